import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { demoScript } from '../../src/demo/demo-script.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello, obedient } from '../support/scripts.ts';

/** Listed, of codex's newest kind (its tools are an input item), and unknown to codex. */
const MODELS = ['gpt-5.5', 'gpt-6.1-sol', 'someone-elses-model'] as const;
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startProxy(hello);
});
beforeEach(() => proxy.use(obedient));
afterAll(() => proxy.close());

/** Returns what reached the model; checks that nothing was ignored. */
const reached = async (
  body: Readonly<Record<string, unknown>>,
  from: TestProxy = proxy,
): Promise<JsonObject> => {
  const response = await from.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', ...body });
  const text = await response.text();
  expect([
    response.status,
    response.headers.get('x-proxy-ignored-params'),
    text.includes('"error":null'),
  ]).toEqual([200, null, true]);
  return from.model.requests.at(-1)?.body ?? {};
};

const PARAMETERS = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $defs: { code: { type: 'string', pattern: '^[A-Z]{3}$', minLength: 3, maxLength: 3 } },
  type: 'object',
  properties: {
    code: { $ref: '#/$defs/code' },
    when: { type: 'string', format: 'date-time' },
    count: { type: 'integer', minimum: 1, exclusiveMaximum: 10, multipleOf: 2 },
    anything: true,
    nothing: false,
    tags: { type: 'array', items: { type: 'string' }, uniqueItems: true, minItems: 1 },
  },
  required: ['code'],
  additionalProperties: false,
};
const TOOLS = [
  { type: 'function', name: 'book', description: 'Books it.', parameters: PARAMETERS, strict: true },
  { type: 'function', name: 'cancel', parameters: { type: 'object', properties: {} }, strict: false },
] as const;

/** Tools are in `tools`, or in the first item. */
const toolsOf = (body: JsonObject): unknown => {
  if (body['tools'] !== undefined) return body['tools'];
  const [first] = body['input'] as readonly { tools: readonly { tools: unknown }[] }[];
  return first?.tools[0]?.tools;
};

const conversationOf = (body: JsonObject): readonly unknown[] =>
  (body['input'] as readonly JsonObject[]).filter((item) => item['type'] !== 'additional_tools');

describe.each(MODELS)('what reaches the model: %s', (model) => {
  it('each tool with its whole schema and strictness', async () => {
    expect(toolsOf(await reached({ model, tools: TOOLS }))).toEqual(TOOLS);
  });

  it.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    ['a function', { type: 'function', name: 'cancel' }],
    [
      'allowed tools, if any',
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'book' }] },
    ],
    [
      'allowed tools, and one must be',
      { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'book' }] },
    ],
  ])('the choice of tools: %s', async (_, tool_choice) => {
    const body = await reached({ model, tools: TOOLS, tool_choice });
    expect(body['tool_choice']).toEqual(tool_choice);
    // All of them stay declared, so that the prompt cache stays warm.
    expect(toolsOf(body)).toEqual(TOOLS);
  });

  it('that only one call is allowed at a time', async () => {
    const body = await reached({ model, tools: TOOLS, parallel_tool_calls: false });
    expect(body['parallel_tool_calls']).toBe(false);
  });

  it('every plain parameter', async () => {
    const plain = {
      temperature: 0.25,
      top_p: 0.5,
      presence_penalty: 0.5,
      frequency_penalty: -0.5,
      max_output_tokens: 1234,
      top_logprobs: 3,
      truncation: 'auto',
      metadata: { relayTurn: 'A-1' },
      safety_identifier: 'user-7',
      user: 'u7',
      prompt_cache_retention: '24h',
      prompt_cache_key: 'my key',
    };
    expect(await reached({ model, ...plain })).toMatchObject(plain);
  });

  it.each(['auto', 'default', 'flex', 'priority', 'scale', 'fast'])(
    'the service tier: %s',
    async (service_tier) => {
      expect(await reached({ model, service_tier })).toMatchObject({ service_tier });
    },
  );

  it("the client's `include`, in addition to codex's", async () => {
    const include = ['message.output_text.logprobs', 'reasoning.encrypted_content'];
    expect((await reached({ model, include }))['include']).toEqual([
      'reasoning.encrypted_content',
      'message.output_text.logprobs',
    ]);
  });

  it('the format with its name, and the verbosity', async () => {
    const format = {
      type: 'json_schema',
      name: 'weather',
      description: 'The weather.',
      schema: { type: 'object', properties: { c: { type: 'number', minimum: -90 } }, required: ['c'] },
      strict: true,
    };
    expect((await reached({ model, text: { format, verbosity: 'high' } }))['text']).toEqual({
      format,
      verbosity: 'high',
    });
    const loose = { type: 'json_schema', name: 'loose', schema: { type: 'object' }, strict: false };
    expect((await reached({ model, text: { format: loose } }))['text']).toEqual({ format: loose });
    expect((await reached({ model, text: { format: { type: 'json_object' } } }))['text']).toEqual({
      format: { type: 'json_object' },
    });
    expect((await reached({ model, text: { verbosity: 'low' } }))['text']).toEqual({ verbosity: 'low' });
  });

  const INPUT = [
    { role: 'system', content: 'You are terse.' },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look and listen.' },
        { type: 'input_image', image_url: PNG, detail: 'low' },
        { type: 'input_image', image_url: PNG, detail: 'high' },
        { type: 'input_image', image_url: PNG, detail: 'original' },
        { type: 'input_audio', input_audio: { data: WAV, format: 'wav' } },
      ],
    },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'I would rather not.' }] },
    { type: 'function_call', call_id: 'c1', name: 'book', arguments: '{}' },
    {
      type: 'function_call_output',
      call_id: 'c1',
      output: [{ type: 'input_image', image_url: PNG, detail: 'low' }],
    },
    { role: 'system', content: 'Hurry.' },
    { role: 'developer', content: 'Or not.' },
    { role: 'user', content: 'Well?' },
  ];
  const image = (detail: string) => ({ type: 'input_image', image_url: PNG, detail });
  const EXACT = [
    { role: 'system', content: [{ type: 'input_text', text: 'You are terse.' }] },
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'Look and listen.' },
        image('low'),
        image('high'),
        image('original'),
        { type: 'input_audio', input_audio: { data: WAV, format: 'wav' } },
      ],
    },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'I would rather not.' }] },
    { type: 'function_call', call_id: 'c1', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: [image('low')] },
    { role: 'system', content: [{ type: 'input_text', text: 'Hurry.' }] },
    { role: 'developer', content: [{ type: 'input_text', text: 'Or not.' }] },
    { role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
  ];
  it.each([
    ['alone', {}],
    ['behind instructions', { instructions: 'Be kind.' }],
    ['behind tools', { tools: TOOLS }],
    ['behind both', { instructions: 'Be kind.', tools: TOOLS }],
  ])('the items as the client sent them: %s', async (_, more) => {
    const body = await reached({ model, input: INPUT, ...more });
    expect(conversationOf(body)).toMatchObject(EXACT);
    expect(body['instructions']).toBe('instructions' in more ? more.instructions : undefined);
  });
});

describe('with prompts as developer instructions', () => {
  let developer: TestProxy;
  beforeAll(async () => {
    developer = await startProxy(hello, { PROXY_INSTRUCTIONS_TARGET: 'developer' });
  });
  afterAll(() => developer.close());

  it.each(MODELS)('items are still found: %s', async (model) => {
    const input = [
      { role: 'system', content: 'Be terse.' },
      { role: 'user', content: [{ type: 'input_image', image_url: PNG, detail: 'low' }] },
      { role: 'system', content: [{ type: 'input_image', image_url: PNG, detail: 'low' }] },
      { role: 'user', content: 'Well?' },
    ];
    const image = { type: 'input_image', image_url: PNG, detail: 'low' };
    for (const instructions of [null, 'Be kind.']) {
      for (const tools of [[], TOOLS]) {
        const body = await reached({ model, input, instructions, tools }, developer);
        const items = (body['input'] as readonly JsonObject[]).filter(
          (item) => item['type'] !== 'additional_tools',
        );
        expect(items).toMatchObject([
          {
            role: 'developer',
            content: [
              { type: 'input_text', text: instructions === null ? 'Be terse.' : 'Be kind.\n\nBe terse.' },
            ],
          },
          { role: 'user', content: [image] },
          { role: 'system', content: [image] },
          { role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
        ]);
      }
    }
    const bare = await reached({ model, input: input.slice(1, 2) }, developer);
    expect(bare['input']).toMatchObject([{ role: 'user', content: [image] }]);
  });
});

/** The demo model honours its parameters, so they must have arrived. */
describe('parameters have an effect on the model', () => {
  beforeEach(() => proxy.use(demoScript()));
  const tools = [
    {
      type: 'function' as const,
      name: 'get_weather',
      parameters: { type: 'object', properties: {} },
      strict: false,
    },
    {
      type: 'function' as const,
      name: 'get_time',
      parameters: { type: 'object', properties: {} },
      strict: false,
    },
  ];
  const calls = async (tool_choice: unknown, input = 'Say hello.'): Promise<readonly string[]> => {
    const response = await proxy.openai.responses.create({
      model: 'gpt-5.5',
      input,
      tools,
      tool_choice: tool_choice as 'auto',
    });
    return response.output.flatMap((item) => (item.type === 'function_call' ? [item.name] : []));
  };

  it('the choice of tools', async () => {
    expect(await calls('none', 'What is the weather? Use get_weather.')).toEqual([]);
    expect(await calls({ type: 'function', name: 'get_time' })).toEqual(['get_time']);
    expect((await calls('required')).length).toBeGreaterThan(0);
    const allowed = {
      type: 'allowed_tools',
      mode: 'required',
      tools: [{ type: 'function', name: 'get_time' }],
    };
    expect(await calls(allowed)).toEqual(['get_time']);
  });

  it('the output limit, which is not counted by us then', async () => {
    const response = await proxy.openai.responses.create({
      model: 'gpt-5.5',
      input: 'Tell me a long story, please.',
      max_output_tokens: 16,
    });
    expect(response.status).toBe('incomplete');
    expect(response.incomplete_details).toEqual({ reason: 'max_output_tokens' });
    expect(response.usage).not.toBeNull();
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { objectsIn, withoutId } from './responses-sent.ts';

/**
 * codex adds over 20 KB to a request by default: its prompt, its tools, and a description of the machine. Here the
 * model sees exactly what the client sent, for every kind of model.
 */

const MODELS = {
  'an old model': 'gpt-5.5',
  'a new model': 'gpt-6.1-sol',
  'a model that codex does not know': 'some-model-of-tomorrow',
};

const TOOLS: readonly JsonObject[] = [
  {
    type: 'function',
    name: 'get_weather',
    description: 'The weather of a city.',
    strict: false,
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'Its name' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
  {
    type: 'function',
    name: 'ping',
    description: '',
    strict: false,
    parameters: { type: 'object', properties: {} },
  },
];

const CONVERSATION: readonly JsonObject[] = [
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Speak like a sailor.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'What is the weather?' }] },
  { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{"city": "Oslo"}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'snow' },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Snow, arr.' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And in Paris?' }] },
];

const INSTRUCTIONS = 'Answer in one sentence.';

/** What the model sees: instructions, tools and items, from all their fields. */
interface Visible {
  readonly instructions: readonly string[];
  readonly tools: readonly JsonObject[];
  readonly items: readonly JsonObject[];
}

/** Newer models get their tools in an item, inside a namespace without a description. */
const toolsOf = (tool: JsonObject): readonly JsonObject[] =>
  tool['type'] === 'namespace' && tool['name'] === 'functions' && tool['description'] === ''
    ? objectsIn(tool['tools'])
    : [tool];

const visible = (body: JsonObject): Visible => {
  const items = objectsIn(body['input']);
  const isTools = (item: JsonObject): boolean => item['type'] === 'additional_tools';
  const tools = [
    ...objectsIn(body['tools']),
    ...items.filter(isTools).flatMap((item) => objectsIn(item['tools'])),
  ];
  return {
    instructions: typeof body['instructions'] === 'string' ? [body['instructions']] : [],
    tools: tools.flatMap(toolsOf),
    items: items.filter((item) => !isTools(item)).map(withoutId),
  };
};

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Request fields that change the model's behaviour and that the client did not send. */
const unasked = (body: JsonObject): unknown => {
  const reasoning = isJsonObject(body['reasoning']) ? body['reasoning'] : {};
  const { effort = null, summary = null } = reasoning;
  const text = body['text'] ?? null;
  const temperature = body['temperature'] ?? null;
  return { effort, summary, text, temperature, serviceTier: body['service_tier'] ?? null };
};
const NOTHING = { effort: null, summary: null, text: null, temperature: null, serviceTier: null };

describe.each(['on', 'off'])('with the relay %s', (wire) => {
  let proxy: TestProxy;
  beforeAll(async () => {
    proxy = await startProxy(hello, { PROXY_WIRE: wire });
  });
  afterAll(() => proxy.close());

  const arrived = async (request: JsonObject): Promise<JsonObject> => {
    const before = proxy.model.requests.length;
    const answer = await proxy.post('/v1/responses', request);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('x-proxy-ignored-params')).toBeNull();
    // One client request is one model request.
    expect(proxy.model.requests.length - before).toBe(1);
    return proxy.model.requests.at(-1)?.body ?? {};
  };

  for (const [kind, model] of Object.entries(MODELS)) {
    for (const hasTools of [false, true]) {
      for (const hasInstructions of [false, true]) {
        const what = `${hasTools ? 'with' : 'without'} tools, ${hasInstructions ? 'with' : 'without'} instructions`;
        it(`${kind}, ${what}: 0 bytes are added`, async () => {
          const body = await arrived({
            model,
            input: CONVERSATION,
            ...(hasTools ? { tools: TOOLS } : {}),
            ...(hasInstructions ? { instructions: INSTRUCTIONS } : {}),
          });
          const instructions: JsonObject = {
            type: 'message',
            role: 'developer',
            content: [{ type: 'input_text', text: INSTRUCTIONS }],
          };
          // In their own field, which only the relay can set, or else as the first message.
          const isMessage = hasInstructions && wire === 'off';
          const isField = hasInstructions && wire === 'on';
          const sent = {
            instructions: isField ? [INSTRUCTIONS] : [],
            tools: hasTools ? TOOLS : [],
            items: isMessage ? [instructions, ...CONVERSATION] : CONVERSATION,
          };
          const seen = visible(body);
          // Neither codex's prompt nor a second copy of the client's.
          expect(seen).toEqual(sent);
          const addedBytes = bytes(seen) - bytes(sent);
          expect(addedBytes).toBe(0);
          expect(unasked(body)).toEqual(NOTHING);
          expect(body['model']).toBe(model);
        });
      }
    }
  }

  it('a string becomes one user message', async () => {
    const { items } = visible(await arrived({ model: 'gpt-5.5', input: 'hi' }));
    expect(items).toEqual([{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }]);
  });

  it("only the client's settings arrive", async () => {
    const body = await arrived({
      model: 'gpt-5.5',
      input: 'hi',
      reasoning: { effort: 'low', summary: 'concise' },
      text: { verbosity: 'high' },
      service_tier: 'priority',
    });
    expect(unasked(body)).toEqual({
      effort: 'low',
      summary: 'concise',
      text: { verbosity: 'high' },
      temperature: null,
      serviceTier: 'priority',
    });
  });

  it('the request reveals no path, user name or platform of the machine', async () => {
    const body = await arrived({ model: 'gpt-5.5', input: 'hi', tools: TOOLS });
    expect(JSON.stringify(visible(body))).not.toMatch(/\/tmp|\/root|\/home|linux|sandbox|codex/i);
  });
});

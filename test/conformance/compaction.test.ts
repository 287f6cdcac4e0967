import type { ResponseInputItem } from 'openai/resources/responses/responses';
import { describe, expect, it } from 'vitest';

import { summaryMessage, summaryRequest } from '../../src/canonical/request/compaction.ts';
import type { Message } from '../../src/canonical/request/item.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { expectMatchesSchema } from '../support/schema.ts';
import { hello, HELLO_USAGE, http400, inTurn, says } from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import { sentBody, sentItems, withoutId } from './responses-sent.ts';

/** A provider with unknown capabilities, one that is known to compact, and one without the relay. */
const [plain, native, unwired] = await Promise.all([
  openProxy(hello),
  openProxy(hello, { PROXY_UPSTREAM_PARAMS: 'all' }),
  openProxy(hello, { PROXY_WIRE: 'off' }),
]);

const SUMMARY = 'The user wants tea. The kettle is on. „Ü“ 🫖';
const SEALED = { id: 'cmp_upstream', type: 'compaction', encrypted_content: 'gAAAAA-sealed' };
const WEATHER = {
  type: 'function',
  name: 'get_weather',
  description: null,
  parameters: { type: 'object', properties: {} },
  strict: false,
} as const;

const CONVERSATION: ResponseInputItem[] = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Make tea.' },
  { role: 'assistant', content: 'I look for the kettle.' },
  { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'Rain.' },
  {
    role: 'user',
    content: [
      { type: 'input_text', text: 'Like this?' },
      {
        type: 'input_image',
        image_url:
          'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
        detail: 'auto',
      },
    ],
  },
];
const MORE = { role: 'user', content: 'And now?' } as const;

const told = ({ role, parts }: Message): JsonObject => ({
  type: 'message',
  role,
  content: parts.map((part) => ({ type: 'input_text', text: 'text' in part ? part.text : '' })),
});
const message = (role: Message['role'], text: string): JsonObject =>
  told({ kind: 'message', role, parts: [{ kind: 'text', text }] });
const ASKED = told(summaryRequest());
const REMEMBERED = told(summaryMessage({ kind: 'compaction', summary: SUMMARY }));
const usage = (times: number) => ({
  input_tokens: times * HELLO_USAGE.inputTokens,
  output_tokens: times * HELLO_USAGE.outputTokens,
  total_tokens: times * HELLO_USAGE.totalTokens,
});

const compact = async (proxy: TestProxy, more: JsonObject = {}) => {
  const compacted = await proxy.openai.responses.compact({
    model: 'gpt-5.5',
    input: CONVERSATION,
    instructions: 'You are a butler.',
    ...more,
  });
  expectMatchesSchema('CompactResource', compacted);
  return compacted;
};

const roles = (items: readonly object[]): readonly unknown[] =>
  items.map((item) => ('role' in item ? item.role : 'type' in item ? item.type : null));

describe.each([
  ['of which nothing is known', plain],
  ['without the relay', unwired],
] as const)('a backend %s', (_, proxy) => {
  it("writes a summary; the result is the client's messages and that summary", async () => {
    proxy.use(says([{ text: SUMMARY }], { usage: HELLO_USAGE }));
    const compacted = await compact(proxy, { tools: [WEATHER], tool_choice: 'required' });
    expect(compacted).toMatchObject({ object: 'response.compaction', usage: usage(1) });
    expect(roles(compacted.output)).toEqual(['developer', 'user', 'user', 'compaction']);
    const asked = sentItems(proxy.model);
    expect(asked.at(-1)).toEqual(ASKED);
    expect(roles(asked).slice(-6)).toEqual([
      'user',
      'assistant',
      'function_call',
      'function_call_output',
      'user',
      'user',
    ]);
    expect(sentBody(proxy.model)['tools'] ?? []).toEqual([]);

    proxy.use(hello);
    const input = [...compacted.output, MORE] as ResponseInputItem[];
    const answer = await proxy.openai.responses.create({ model: 'gpt-5.5', input });
    expect(answer.output_text).toBe('Hello from the scripted model.');
    const sent = sentItems(proxy.model);
    expect(sent).toHaveLength(5);
    expect(sent.slice(0, 2)).toEqual([message('developer', 'Be brief.'), message('user', 'Make tea.')]);
    expect(sent[2]).toMatchObject({
      role: 'user',
      content: [{ text: 'Like this?' }, { type: 'input_image' }],
    });
    expect(sent.slice(3)).toEqual([REMEMBERED, message('user', 'And now?')]);

    // The second compaction replaces the first one.
    proxy.use(says([{ text: 'Shorter.' }]));
    const again = await proxy.openai.responses.compact({ model: 'gpt-5.5', input });
    expect(roles(again.output)).toEqual(['developer', 'user', 'user', 'user', 'compaction']);
    expect(sentItems(proxy.model).slice(-3)).toEqual([REMEMBERED, message('user', 'And now?'), ASKED]);
  });
});

describe('a trigger in an ordinary request', () => {
  const ask = (proxy: TestProxy, more: JsonObject = {}) =>
    proxy.post('/v1/responses', {
      model: 'gpt-5.5',
      input: [...CONVERSATION, { type: 'compaction_trigger' }],
      ...more,
    });

  it.each([
    ['a summary', plain, [{ text: SUMMARY }], ASKED],
    [
      'the compaction of the backend',
      native,
      [{ reasoning: { summary: ['Hm.'] } }, { item: SEALED }],
      { type: 'compaction_trigger' },
    ],
  ] as const)(
    'is answered with %s and nothing else, as JSON and as a stream',
    async (_, proxy, steps, last) => {
      proxy.use(says(steps, { usage: HELLO_USAGE }));
      const body = (await (await ask(proxy)).json()) as { readonly output: readonly JsonObject[] };
      expect(sentItems(proxy.model).at(-1)).toEqual(last);
      expectMatchesSchema('Response', body);
      expect(roles(body.output)).toEqual(['compaction']);
      const events = eventsOf(await collectSse(await ask(proxy, { stream: true })));
      expect(events.map(({ type }) => type)).toEqual([
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.output_item.done',
        'response.completed',
      ]);
      const { response } = events.at(-1) as unknown as { readonly response: typeof body };
      const withoutIds = (items: readonly JsonObject[]) => items.map(({ id: _id, ...rest }) => rest);
      expect(withoutIds(response.output)).toEqual(withoutIds(body.output));
    },
  );

  it('names parameters that do not apply to a summary', async () => {
    plain.use(says([{ text: SUMMARY }]));
    const response = await ask(plain, {
      tools: [WEATHER],
      tool_choice: 'required',
      max_output_tokens: 20,
      text: { format: { type: 'json_object' } },
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-proxy-ignored-params')?.split(', ').toSorted()).toEqual([
      'context_management',
      'max_output_tokens',
      'text.format',
      'tool_choice',
    ]);
  });

  it.each([
    ['in the middle', [{ type: 'compaction_trigger' }, MORE], 'input[0]'],
    ['alone', [{ type: 'compaction_trigger' }], 'input[0]'],
  ])('is rejected %s', async (_, input, param) => {
    const response = await plain.post('/v1/responses', { model: 'gpt-5.5', input });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_value', param } });
  });
});

describe('a backend that compacts', () => {
  it('gets a trigger, and returns its compaction unchanged', async () => {
    native.use(inTurn(says([{ item: SEALED }], { usage: HELLO_USAGE }), hello));
    const compacted = await compact(native);
    expect(compacted).toMatchObject({ usage: usage(1) });
    expect(roles(compacted.output)).toEqual(['developer', 'user', 'user', 'compaction']);
    expect(compacted.output.at(-1)).toEqual(SEALED);
    expect(sentBody(native.model)['instructions']).toBe('You are a butler.');
    const input = [...compacted.output, MORE] as ResponseInputItem[];
    await native.openai.responses.create({ model: 'gpt-5.5', input });
    const { id: _, ...sealed } = SEALED;
    expect(sentItems(native.model).slice(-2)).toEqual([sealed, message('user', 'And now?')]);
  });

  it('compacts by itself at the configured threshold, and the item keeps its position', async () => {
    const context_management = [{ type: 'compaction', compact_threshold: 200_000 }];
    const body = { model: 'gpt-5.5', input: CONVERSATION, context_management };
    native.use(says([{ item: SEALED }, { text: 'Tea is ready.' }]));
    const answer = await native.openai.responses.create(body);
    expect(sentBody(native.model)['context_management']).toEqual(context_management);
    expect(answer.output).toMatchObject([SEALED, { type: 'message' }]);
    const stream = await native.openai.responses.create({ ...body, stream: true });
    const done: unknown[] = [];
    for await (const event of stream) if (event.type === 'response.output_item.done') done.push(event.item);
    expect(done).toMatchObject([SEALED, { type: 'message' }]);
    native.use(hello);
    const input = [...CONVERSATION, ...answer.output, MORE] as ResponseInputItem[];
    await native.openai.responses.create({ ...body, input });
    expect(roles(sentItems(native.model)).slice(-3)).toEqual(['compaction', 'assistant', 'user']);
  });

  it('never gets a summary as encrypted content', async () => {
    plain.use(says([{ text: SUMMARY }]));
    native.use(hello);
    const { output } = await compact(plain);
    await native.openai.responses.create({
      model: 'gpt-5.5',
      input: [...output, MORE] as ResponseInputItem[],
    });
    expect(sentItems(native.model).at(-2)).toEqual(REMEMBERED);
  });

  it('reports that its context window is full', async () => {
    native.use(http400('Your input exceeds the context window.', 'input', 'context_length_exceeded'));
    await expect(compact(native)).rejects.toMatchObject({ status: 400, code: 'context_length_exceeded' });
  });
});

describe.each([
  ['refuses the trigger', 'gpt-5.4', 1, http400("Invalid value: 'compaction_trigger'.", 'input[6]')],
  ['overlooks the trigger', 'gpt-5.4-mini', 2, hello],
] as const)('a backend that %s', (_, model, answers, first) => {
  it('is asked for a summary, at once and in later requests', async () => {
    native.use(inTurn(first, says([{ text: SUMMARY }], { usage: HELLO_USAGE }), says([{ text: 'Again.' }])));
    const before = native.model.requests.length;
    const compacted = await compact(native, { model });
    expect(compacted).toMatchObject({ usage: usage(answers) });
    expect(sentItems(native.model).at(-1)).toEqual(ASKED);
    await compact(native, { model });
    expect(native.model.requests.length - before).toBe(3);
  });

  it('still gets encrypted compactions, which it may have made earlier', async () => {
    const input = [MORE, SEALED] as ResponseInputItem[];
    await native.openai.responses.create({ model, input });
    expect(sentItems(native.model).at(-1)).toEqual(withoutId(SEALED));
  });
});

describe('the compaction endpoint', () => {
  it.each([
    ['no model', { input: 'Hi.' }, 'missing_required_parameter', 'model'],
    ['no input', { model: 'gpt-5.5' }, 'missing_required_parameter', 'input'],
    [
      'an unknown response',
      { model: 'gpt-5.5', input: 'Hi.', previous_response_id: 'resp_1' },
      'previous_response_not_found',
      'previous_response_id',
    ],
    ['a stream', { model: 'gpt-5.5', input: 'Hi.', stream: true }, 'unsupported_parameter', 'stream'],
    [
      'a broken summary',
      {
        model: 'gpt-5.5',
        input: [MORE, { type: 'compaction', encrypted_content: 'codex-app-server-proxy.summary.v1.AAAA' }],
      },
      'invalid_value',
      'input[1].encrypted_content',
    ],
  ])('rejects %s', async (_, body, code, param) => {
    const response = await plain.post('/v1/responses/compact', body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, param } });
  });

  it('fails if no summary was written', async () => {
    plain.use(says([{ text: ' ' }]));
    await expect(compact(plain)).rejects.toMatchObject({ status: 502, code: 'upstream_error' });
    plain.use(says([{ text: 'The user wan' }, { incomplete: 'max_output_tokens' }]));
    await expect(compact(plain)).rejects.toMatchObject({ status: 502, code: 'upstream_error' });
  });

  it('accepts a text as input, and names unknown parameters', async () => {
    plain.use(says([{ text: SUMMARY }]));
    const response = await plain.post('/v1/responses/compact', {
      model: 'gpt-5.5',
      input: 'Hi.',
      flavour: 1,
    });
    expect(response.headers.get('x-proxy-ignored-params')).toBe('flavour');
    expect(await response.json()).toMatchObject({ output: [{ role: 'user' }, { type: 'compaction' }] });
  });
});

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { checkedClient, type CheckedClient } from '../conformance/responses-checked.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { collectSse, eventsOf, readSse } from '../support/sse.ts';
import { failed, http400, http401, http404Model, http429, says, usageLimit } from '../support/scripts.ts';

let proxy: TestProxy;
let client: CheckedClient;
beforeAll(async () => {
  proxy = await startProxy(says([]));
  client = checkedClient(proxy);
});
afterEach(() => client.check());
afterAll(async () => {
  await client.close();
  await proxy.close();
});

type Event = Record<string, unknown> & { readonly type: string };
const ASK = { model: 'gpt-5.5', input: 'hi' } as const;

/** The same answer as a stream and as JSON, through OpenAI's own client. */
const both = async (
  script: Script,
  more: Record<string, unknown> = {},
): Promise<{ events: readonly Event[]; last: JsonObject; json: JsonObject }> => {
  proxy.use(script);
  const stream = client.openai.responses.stream({ ...ASK, ...more });
  await stream.done();
  const events = (await client.lastEvents()) as readonly Event[];
  const last = (events.at(-1)?.['response'] ?? {}) as JsonObject;
  await client.openai.responses.create({ ...ASK, ...more });
  return { events, last, json: client.lastBody() as JsonObject };
};

const named = (events: readonly Event[], ...types: readonly string[]): readonly Event[] =>
  events.filter((event) => types.includes(event.type));

describe('a refusal', () => {
  it('is a part of its own, with its events', async () => {
    const { events, last, json } = await both(says([{ refusal: 'I will not help with that.' }]));
    const part = { type: 'refusal', refusal: 'I will not help with that.' };
    expect(last['output']).toMatchObject([{ type: 'message', status: 'completed', content: [part] }]);
    expect(json['output']).toMatchObject([{ type: 'message', status: 'completed', content: [part] }]);
    expect(events.map((event) => event.type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.refusal.delta',
      'response.refusal.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(last['usage']).not.toBeNull();
  });

  it('may come behind a text, or behind reasoning', async () => {
    const raw = (type: string, data: JsonObject) => ({ event: { type, ...data } });
    const at = { item_id: 'msg_1', output_index: 0 };
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress' };
    const content = [
      { type: 'output_text', text: 'Well, ', annotations: [] },
      { type: 'refusal', refusal: 'no.' },
    ];
    const { last, json } = await both(
      says([
        raw('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
        raw('response.output_text.delta', { ...at, content_index: 0, delta: 'Well, ' }),
        raw('response.refusal.delta', { ...at, content_index: 1, delta: 'no.' }),
        raw('response.output_item.done', {
          output_index: 0,
          item: { ...item, status: 'completed', content },
        }),
      ]),
    );
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([
        {
          type: 'message',
          content: [
            { type: 'output_text', text: 'Well, ' },
            { type: 'refusal', refusal: 'no.' },
          ],
        },
      ]);
    }
    const thought = await both(says([{ reasoning: { summary: ['Hm.'] } }, { refusal: 'No.' }]), {
      reasoning: { summary: 'auto' },
    });
    expect(thought.json['output']).toMatchObject([
      { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
    ]);
  });
});

describe('an answer that stops short', () => {
  it.each(['max_output_tokens', 'content_filter'] as const)(
    'says why, and what it cost: %s',
    async (reason) => {
      const usage = {
        inputTokens: 11,
        cachedInputTokens: 3,
        cacheWriteInputTokens: 2,
        outputTokens: 7,
        reasoningTokens: 1,
        totalTokens: 18,
      };
      const { last, json } = await both(
        says([{ text: 'This was cut', end: 'incomplete' }, { incomplete: reason }], { usage }),
      );
      for (const response of [last, json]) {
        expect(response).toMatchObject({
          status: 'incomplete',
          incomplete_details: { reason },
          output: [{ status: 'incomplete', content: [{ text: 'This was cut' }] }],
          usage: {
            input_tokens: 11,
            input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 },
            output_tokens: 7,
            output_tokens_details: { reasoning_tokens: 1 },
            total_tokens: 18,
          },
        });
      }
    },
  );

  it('counts an answer before it in the same turn too', async () => {
    const usage = (tokens: number) => ({
      inputTokens: tokens,
      cachedInputTokens: 0,
      cacheWriteInputTokens: 0,
      outputTokens: tokens,
      reasoningTokens: 0,
      totalTokens: 2 * tokens,
    });
    let nth = 0;
    proxy.use((_request, connection) => {
      nth += 1;
      return nth === 1
        ? answer(connection, [{ call: { name: 'undeclared', arguments: '{}' } }], { usage: usage(5) })
        : answer(connection, [{ incomplete: 'max_output_tokens' }], { usage: usage(7) });
    });
    const response = await client.openai.responses.create(ASK);
    expect(response).toMatchObject({ status: 'incomplete', usage: { input_tokens: 12, total_tokens: 24 } });
  });
});

interface Expected {
  readonly status: number;
  readonly error: Record<string, unknown>;
  readonly headers?: Record<string, string | null>;
}

const answered = async (script: Script, stream: boolean): Promise<Expected & { headers: Headers }> => {
  proxy.use(script);
  const response = await proxy.post('/v1/responses', { ...ASK, stream });
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  return { status: response.status, error, headers: response.headers as never };
};

const replies =
  (status: number, body: JsonObject | string, headers: Record<string, string> = {}): Script =>
  (_request, connection) =>
    connection.reply(status, body, headers);

describe('an error of the backend', () => {
  const limits = {
    'x-request-id': 'req_up_1',
    'x-ratelimit-limit-requests': '100',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '7s',
  };
  const told = {
    'x-upstream-request-id': 'req_up_1',
    'x-ratelimit-limit-requests': '100',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '7s',
  };
  const cases: readonly (readonly [string, Script, Expected])[] = [
    [
      '400 with its own message, param and code',
      http400("Invalid value: 'purple'.", 'reasoning.effort', 'invalid_value'),
      {
        status: 400,
        error: {
          message: "Invalid value: 'purple'.",
          type: 'invalid_request_error',
          param: 'reasoning.effort',
          code: 'invalid_value',
        },
      },
    ],
    [
      '400 in other words',
      replies(400, { detail: 'Instructions are required' }),
      {
        status: 400,
        error: {
          message: 'Instructions are required',
          type: 'invalid_request_error',
          param: null,
          code: 'invalid_prompt',
        },
      },
    ],
    [
      '401, without a word about the key',
      http401,
      {
        status: 401,
        error: {
          message: 'The upstream refused its credentials. Sign in again, or check PROXY_UPSTREAM_API_KEY.',
          type: 'authentication_error',
          param: null,
          code: 'upstream_unauthorized',
        },
      },
    ],
    [
      '403',
      replies(403, { error: { message: 'Your country is not supported.', code: 'x' } }),
      {
        status: 403,
        error: {
          message: 'Your country is not supported.',
          type: 'invalid_request_error',
          param: null,
          code: 'upstream_forbidden',
        },
      },
    ],
    [
      '404',
      http404Model('gpt-9'),
      {
        status: 404,
        error: {
          message: 'The model `gpt-9` does not exist or you do not have access to it.',
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      },
    ],
    [
      '413',
      replies(413, { error: { message: 'Too long.', code: 'context_length_exceeded' } }),
      {
        status: 400,
        error: {
          message: 'Too long.',
          type: 'invalid_request_error',
          param: null,
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      '429 with how long to wait',
      http429(7),
      {
        status: 429,
        error: {
          message: 'Rate limit reached for requests.',
          type: 'rate_limit_error',
          param: null,
          code: 'rate_limit_exceeded',
        },
        headers: { 'retry-after': '7', 'x-should-retry': null },
      },
    ],
    [
      '429 with its limits',
      replies(429, { error: { message: 'Slow.' } }, { ...limits, 'retry-after-ms': '1500' }),
      {
        status: 429,
        error: { message: 'Slow.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
        headers: { ...told, 'retry-after': '2' },
      },
    ],
    [
      '429 because the plan is used up',
      usageLimit(3600),
      {
        status: 429,
        error: {
          message: 'The usage limit has been reached',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
        headers: { 'retry-after': '3600', 'x-should-retry': 'false' },
      },
    ],
    [
      '500',
      replies(500, { error: { message: 'at /srv/model/main.py' } }, { 'x-request-id': 'req_up_1' }),
      {
        status: 502,
        error: {
          message: 'The upstream had an error while processing the request.',
          type: 'server_error',
          param: null,
          code: 'upstream_error',
        },
        headers: { 'x-upstream-request-id': 'req_up_1' },
      },
    ],
    [
      '503',
      replies(503, 'busy', { 'retry-after': '20' }),
      {
        status: 503,
        error: {
          message: 'The upstream is overloaded. Please try again shortly.',
          type: 'server_error',
          param: null,
          code: 'upstream_overloaded',
        },
        headers: { 'retry-after': '20' },
      },
    ],
    [
      'response.failed with a rate limit',
      failed('rate_limit_exceeded', 'Slow down, please.'),
      {
        status: 429,
        error: {
          message: 'Slow down, please.',
          type: 'rate_limit_error',
          param: null,
          code: 'rate_limit_exceeded',
        },
      },
    ],
    [
      'response.failed with a code of its own',
      failed('vector_store_timeout', 'The store was slow.'),
      {
        status: 502,
        error: {
          message: 'The store was slow.',
          type: 'server_error',
          param: null,
          code: 'vector_store_timeout',
        },
      },
    ],
    [
      'response.failed because the input is too long',
      failed('context_length_exceeded', 'Your input exceeds the context window of this model.'),
      {
        status: 400,
        error: {
          message: 'Your input exceeds the context window of this model.',
          type: 'invalid_request_error',
          param: 'input',
          code: 'context_length_exceeded',
        },
      },
    ],
    [
      'an error event',
      (_request, connection) => {
        connection.event({ type: 'error', code: 'invalid_prompt', message: 'Blocked.', param: null });
      },
      {
        status: 400,
        error: { message: 'Blocked.', type: 'invalid_request_error', param: null, code: 'invalid_prompt' },
      },
    ],
    [
      'a nested error event',
      (_request, connection) => {
        connection.event({ type: 'error', error: { code: 'insufficient_quota', message: 'Used up.' } });
      },
      {
        status: 429,
        error: { message: 'Used up.', type: 'insufficient_quota', param: null, code: 'insufficient_quota' },
        headers: { 'x-should-retry': 'false' },
      },
    ],
  ];

  describe.each([
    ['as JSON', false],
    ['as a stream', true],
  ])('%s', (_, stream) => {
    it.each(cases)('%s', async (__, script, expected) => {
      const { status, error, headers } = await answered(script, stream);
      expect({ status, error }).toEqual({ status: expected.status, error: expected.error });
      for (const [name, value] of Object.entries(expected.headers ?? {})) {
        expect([name, headers.get(name)]).toEqual([name, value]);
      }
    });
  });

  it('in the middle of an answer ends it with the same words', async () => {
    proxy.use(says([{ text: 'So far' }, { fail: { code: 'slow_down', message: 'Busy.' } }]));
    const events = eventsOf(await collectSse(await proxy.post('/v1/responses', { ...ASK, stream: true })));
    expect(events.at(-2)).toMatchObject({
      type: 'error',
      error: { message: 'Busy.', type: 'server_error', param: null, code: 'upstream_overloaded' },
    });
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { error: { code: 'server_error', message: 'Busy.' } },
    });
  });
});

describe('headers of a good answer', () => {
  it.each([true, false])('say its request id and its limits (stream: %s)', async (stream) => {
    proxy.use(
      says([{ text: 'x' }], {
        headers: { 'x-request-id': 'req_up_2', 'x-ratelimit-remaining-tokens': '99', 'x-secret': 'no' },
      }),
    );
    const response = await proxy.post('/v1/responses', { ...ASK, stream });
    await response.text();
    expect(response.headers.get('x-upstream-request-id')).toBe('req_up_2');
    expect(response.headers.get('x-request-id')).not.toBe('req_up_2');
    expect(response.headers.get('x-ratelimit-remaining-tokens')).toBe('99');
    expect(response.headers.get('x-secret')).toBeNull();
  });
});

describe('annotations and log probabilities', () => {
  it('come with the text', async () => {
    const annotations = [
      { type: 'url_citation', url: 'https://example.com/a', title: 'A', start_index: 0, end_index: 3 },
    ];
    const logprobs = [{ token: 'Yes', bytes: [89, 101, 115], logprob: -0.1, top_logprobs: [] }];
    const at = { item_id: 'msg_1', output_index: 0, content_index: 0 };
    const item = { id: 'msg_1', type: 'message', role: 'assistant' };
    const part = { type: 'output_text', text: 'Yes', annotations, logprobs };
    const { events, last, json } = await both(
      says([
        {
          event: {
            type: 'response.output_item.added',
            output_index: 0,
            item: { ...item, status: 'in_progress', content: [] },
          },
        },
        { event: { type: 'response.output_text.delta', ...at, delta: 'Yes', logprobs } },
        {
          event: {
            type: 'response.output_item.done',
            output_index: 0,
            item: { ...item, status: 'completed', content: [part] },
          },
        },
      ]),
      { top_logprobs: 1, include: ['message.output_text.logprobs'] },
    );
    expect(last['output']).toMatchObject([{ content: [part] }]);
    expect(json['output']).toMatchObject([{ content: [part] }]);
    expect(named(events, 'response.output_text.done')).toMatchObject([{ text: 'Yes', logprobs }]);
  });
});

describe('the arguments of a call', () => {
  const tools = [
    { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false },
  ];
  const ARGUMENTS = ['{"a":', '"one ', 'two"', '}'];
  const call = (callId: string, end?: 'open') => ({
    call: { name: 'f', arguments: ARGUMENTS.join(''), callId, id: `fc_${callId}` },
    deltas: ARGUMENTS,
    ...(end === undefined ? {} : { end }),
  });

  /** The events until nothing more comes: the model has not finished its call. */
  const seenWhileWriting = async (
    script: Script,
    more: Record<string, unknown> = {},
  ): Promise<readonly Event[]> => {
    proxy.use(script);
    const abort = new AbortController();
    const response = await proxy.post(
      '/v1/responses',
      { ...ASK, tools, stream: true, ...more },
      { signal: abort.signal, headers: { 'x-proxy-output-layout': 'natural' } },
    );
    const events: Event[] = [];
    if (response.body === null) return events;
    for await (const frame of readSse(response.body)) {
      const event = JSON.parse(frame.data) as Event;
      events.push(event);
      if (event.type === 'response.function_call_arguments.delta' && event['delta'] === '}') break;
      // As much as came before the call could be shown comes in one piece.
      if (event.type === 'response.function_call_arguments.delta' && String(event['delta']).endsWith('"}'))
        break;
    }
    abort.abort();
    return events;
  };
  const deltas = (events: readonly Event[]): readonly unknown[] =>
    named(events, 'response.function_call_arguments.delta').map((event) => event['delta']);

  it('come as they are written', async () => {
    const events = await seenWhileWriting(says([call('c1', 'open'), { hang: true }]));
    expect(deltas(events)).toEqual(ARGUMENTS);
    expect(named(events, 'response.output_item.added')).toMatchObject([
      { item: { type: 'function_call', call_id: 'c1', arguments: '' } },
    ]);
    expect(named(events, 'response.function_call_arguments.done')).toEqual([]);
  });

  it('come as they are written behind reasoning and a message', async () => {
    const events = await seenWhileWriting(
      says([
        { reasoning: { summary: ['Hm.'] } },
        { text: 'Let me see.' },
        { wait: 100 },
        { ...call('c1', 'open'), delayMs: 20 },
        { hang: true },
      ]),
      { reasoning: { summary: 'auto' } },
    );
    expect(deltas(events).join('')).toBe(ARGUMENTS.join(''));
    expect(deltas(events).length).toBeGreaterThan(1);
    expect(
      named(events, 'response.output_item.added').map((event) => (event['item'] as JsonObject)['type']),
    ).toEqual(['reasoning', 'message', 'function_call']);
  });

  it('keep their order when they are written without a pause behind a long message', async () => {
    const text = Array.from({ length: 2_000 }, (_, index) => `word${index} `).join('');
    const { events, last, json } = await both(says([{ text }, call('c1'), call('c2')]), { tools });
    const items = named(events, 'response.output_item.added', 'response.output_item.done').map(
      (event) => `${event.type.slice(21)} ${String((event['item'] as JsonObject)['call_id'] ?? 'message')}`,
    );
    expect(items).toEqual(['added message', 'done message', 'added c1', 'done c1', 'added c2', 'done c2']);
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([
        { type: 'message', content: [{ text }] },
        { call_id: 'c1', arguments: ARGUMENTS.join('') },
        { call_id: 'c2', arguments: ARGUMENTS.join('') },
      ]);
    }
  });

  it('of parallel calls belong to one each', async () => {
    const { last } = await both(
      says([
        { call: { name: 'f', arguments: '{"n":1}', callId: 'c1' }, deltas: ['{"n"', ':1}'], delayMs: 15 },
        { call: { name: 'f', arguments: '{"n":2}', callId: 'c2' }, deltas: ['{"n"', ':2}'], delayMs: 15 },
        { call: { name: 'f', arguments: '', callId: 'c3' }, deltas: [] },
      ]),
      { tools },
    );
    expect(last['output']).toMatchObject([
      { type: 'message' },
      { call_id: 'c1', arguments: '{"n":1}' },
      { call_id: 'c2', arguments: '{"n":2}' },
      { call_id: 'c3', arguments: '{}' },
    ]);
  });

  it('of a second call are not shown where only one may come', async () => {
    const { last, json } = await both(says([{ ...call('c1'), delayMs: 10 }, call('c2')]), {
      tools,
      parallel_tool_calls: false,
    });
    for (const response of [last, json]) {
      expect(response['output']).toMatchObject([{ type: 'message' }, { call_id: 'c1' }]);
      expect(response['output']).toHaveLength(2);
    }
  });

  it('of a call that nobody declared are not shown', async () => {
    const script = says([
      { call: { name: 'g', arguments: '{"x":1}', callId: 'c0', id: 'fc_same' }, delayMs: 10 },
      { call: { name: 'f', arguments: '{"y":2}', callId: 'c1', id: 'fc_same' }, delayMs: 10 },
    ]);
    const { events, last } = await both(script, { tools });
    expect(deltas(events).join('')).toBe('{"y":2}');
    expect(last['output']).toMatchObject([{ type: 'message' }, { call_id: 'c1', arguments: '{"y":2}' }]);
  });

  it.each(['fc_0', 'not an id', '', 'é'])(
    'are right with odd ids, also one that comes twice: %j',
    async (id) => {
      const script = says([
        { call: { name: 'f', arguments: '{"n":1}', callId: 'c1', id }, chunkSize: 2 },
        { call: { name: 'f', arguments: '{"n":2}', callId: 'c2', id }, chunkSize: 2 },
      ]);
      const { last, json } = await both(script, { tools });
      for (const response of [last, json]) {
        expect(response['output']).toMatchObject([
          { type: 'message' },
          { call_id: 'c1', arguments: '{"n":1}' },
          { call_id: 'c2', arguments: '{"n":2}' },
        ]);
        const ids = (response['output'] as readonly { id: string }[]).map((item) => item.id);
        expect(new Set(ids).size).toBe(3);
      }
    },
  );

  it('of the next answer in the same turn come too', async () => {
    let nth = 0;
    const script: Script = (_request, connection) => {
      nth += 1;
      return nth % 2 === 1
        ? answer(connection, [{ call: { name: 'undeclared', arguments: '{}' } }])
        : answer(connection, [{ ...call('c1'), delayMs: 15 }]);
    };
    const { events, last } = await both(script, { tools });
    expect(deltas(events)).toEqual(ARGUMENTS);
    expect(last['output']).toMatchObject([{ type: 'message' }, { call_id: 'c1' }]);
  });
});

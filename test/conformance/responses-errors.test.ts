import {
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import {
  contextLengthExceeded,
  cutMidStream,
  failed,
  garbageHtml,
  garbageJson,
  hang,
  hangBeforeHeaders,
  hangMidStream,
  hello,
  http400,
  http401,
  http404Model,
  http429,
  http500,
  says,
  usageLimit,
} from '../support/scripts.ts';
import { checkedClient, openChecked } from './responses-checked.ts';

const { proxy, client } = await openChecked(hello);

const ASK = { model: 'gpt-5.5', input: 'hi' } as const;

const errorOf = async (promise: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not fail');
};
const apiErrorOf = async (promise: PromiseLike<unknown>): Promise<APIError> => {
  const error = await errorOf(promise);
  if (error instanceof APIError) return error;
  throw error;
};

interface Row {
  readonly what: string;
  readonly script: Script;
  readonly as: new (...args: never[]) => APIError;
  readonly status: number;
  readonly type: string;
  readonly code: string;
  readonly param: string | null;
}

const invalid = { as: BadRequestError, status: 400, type: 'invalid_request_error' } as const;
const upstream = {
  as: InternalServerError,
  status: 502,
  type: 'server_error',
  code: 'upstream_error',
  param: null,
};

const ROWS: readonly Row[] = [
  { what: 'a 400', script: http400(), ...invalid, code: 'invalid_value', param: 'reasoning.effort' },
  {
    what: 'a context that is too long',
    script: contextLengthExceeded,
    ...invalid,
    code: 'context_length_exceeded',
    param: 'input',
  },
  {
    what: 'a 401',
    script: http401,
    ...upstream,
    code: 'upstream_unauthorized',
  },
  {
    what: 'a model that is not there',
    script: http404Model('gpt-5.5'),
    as: NotFoundError,
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    param: 'model',
  },
  {
    what: 'a 429',
    script: http429(),
    as: RateLimitError,
    status: 429,
    type: 'rate_limit_error',
    code: 'rate_limit_exceeded',
    param: null,
  },
  {
    what: 'a plan that is used up',
    script: usageLimit(),
    as: RateLimitError,
    status: 429,
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    param: null,
  },
  { what: 'a 500', script: http500, ...upstream },
  { what: 'response.failed', script: failed(), ...upstream },
  { what: 'HTML', script: garbageHtml, ...upstream },
  { what: 'broken JSON', script: garbageJson, ...upstream },
];

describe('an upstream error before the first byte is a typed error with a status', () => {
  for (const { what, script, as, ...facts } of ROWS) {
    it.each([false, true])(`${what} (stream: %s)`, async (stream) => {
      proxy.use(script);
      const error = await apiErrorOf(client.openai.responses.create({ ...ASK, stream }));
      expect(error).toBeInstanceOf(as);
      const { status, type, code, param } = error;
      expect({ status, type, code, param }).toEqual(facts);
      expect(error.requestID).toMatch(/^req_/);
      // The host helps the operator; the rest of the address stays private.
      expect(error.message).not.toMatch(/https?:|\/responses|\/v1/);
    });
  }

  it("passes the upstream's message on", async () => {
    proxy.use(http400('The value is too purple.', 'text.format', 'too_purple'));
    const error = await apiErrorOf(client.openai.responses.create(ASK));
    expect(error.error).toEqual({
      message: 'The value is too purple.',
      type: 'invalid_request_error',
      param: 'text.format',
      code: 'too_purple',
    });
  });
});

describe('an error of this server', () => {
  it('a wrong key is an AuthenticationError', async () => {
    const stranger = checkedClient(proxy, 'sk-wrong-key-of-somebody');
    const error = await apiErrorOf(stranger.openai.responses.create(ASK));
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error.error).toEqual({
      message:
        'Incorrect API key provided: sk-wr***dy. Use the key of this server: its start-up message says where to find it.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_api_key',
    });
    await stranger.check();
    await stranger.close();
  });

  it('a value out of range is a BadRequestError that names it', async () => {
    const error = await apiErrorOf(client.openai.responses.create({ ...ASK, temperature: 3 }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.error).toEqual({
      message:
        "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
      type: 'invalid_request_error',
      param: 'temperature',
      code: 'decimal_above_max_value',
    });
  });

  it('causes no model request', async () => {
    const before = proxy.model.requests.length;
    await apiErrorOf(client.openai.responses.create({ ...ASK, previous_response_id: 'resp_1' }));
    expect(proxy.model.requests.length).toBe(before);
  });
});

describe('an error after the first byte', () => {
  it('ends the stream with an error event and a failed response', async () => {
    proxy.use(cutMidStream);
    const stream = await client.openai.responses.create({ ...ASK, stream: true });
    const error = await apiErrorOf(Array.fromAsync(stream));
    expect([error.code, error.type]).toEqual(['upstream_error', 'server_error']);
    const done = (await client.lastEvents()).filter((event) => event['type'] === 'response.output_item.done');
    expect(done).toMatchObject([
      { item: { status: 'incomplete', content: [{ text: 'This sentence will never' }] } },
    ]);
  });

  it('continues the raw stream with response.failed and [DONE]', async () => {
    proxy.use(cutMidStream);
    const answer = await proxy.post('/v1/responses', { ...ASK, stream: true });
    const text = await answer.text();
    const tail = text.trim().split('\n\n').slice(-3);
    const data = tail.map((frame) => frame.split('data: ')[1] ?? '');
    expect(data[2]).toBe('[DONE]');
    const message = `The upstream at ${new URL(proxy.model.baseUrl).host} ended its answer without response.completed.`;
    expect(JSON.parse(data[0] ?? '')).toEqual({
      type: 'error',
      sequence_number: expect.any(Number),
      code: 'upstream_error',
      message,
      param: null,
      error: {
        message,
        type: 'server_error',
        param: null,
        code: 'upstream_error',
      },
    });
    expect(JSON.parse(data[1] ?? '')).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' }, usage: null },
    });
  });

  it('is a status without stream', async () => {
    proxy.use(cutMidStream);
    const error = await apiErrorOf(client.openai.responses.create(ASK));
    expect([error.status, error.code]).toEqual([502, 'upstream_error']);
  });
});

describe('a client that disconnects', () => {
  const newest = () => {
    const request = proxy.model.requests.at(-1);
    if (request === undefined) throw new Error('the model was not asked');
    return request;
  };
  /** Waits until the model request has started. */
  const untilAsked = async (before: number): Promise<void> => {
    while (proxy.model.requests.length === before)
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
  };

  it('mid-stream: the model request is closed', async () => {
    proxy.use(hangMidStream);
    const stream = await client.openai.responses.create({ ...ASK, stream: true });
    let text = '';
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (text === 'Wait for') break;
    }
    expect(await newest().ended).toBe('aborted');
    expect(text).toBe('Wait for');
  });

  it.each([
    ['the model is silent after its headers', hang, true],
    ['the model is silent after its headers, without stream', hang, false],
    ['not even headers came', hangBeforeHeaders, true],
    ['not even headers came, without stream', hangBeforeHeaders, false],
    ['in the middle, without stream', hangMidStream, false],
  ])('before the first byte, %s: closed as well', async (_, script, stream) => {
    proxy.use(script);
    const before = proxy.model.requests.length;
    const controller = new AbortController();
    const answer = errorOf(client.openai.responses.create({ ...ASK, stream }, { signal: controller.signal }));
    await untilAsked(before);
    controller.abort();
    expect(await answer).toBeInstanceOf(APIUserAbortError);
    expect(await newest().ended).toBe('aborted');
  });

  it('is logged as abandoned, not as an error', async () => {
    proxy.use(hangMidStream);
    const { data: stream, request_id } = await client.openai.responses
      .create({ ...ASK, stream: true })
      .withResponse();
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    await newest().ended;
    const lines = (): readonly unknown[] => proxy.log.filter((line) => line['requestId'] === request_id);
    while (lines().length === 0)
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    expect(lines()).toMatchObject([{ msg: 'request', status: 200, outcome: 'abandoned', errorCode: null }]);
    expect(lines()).toHaveLength(1);
  });

  it('is logged the same way if nothing was sent yet', async () => {
    proxy.use(hang);
    const before = proxy.model.requests.length;
    const controller = new AbortController();
    const headers = { 'x-request-id': 'gone-early' };
    const answer = errorOf(client.openai.responses.create(ASK, { signal: controller.signal, headers }));
    await untilAsked(before);
    controller.abort();
    await answer;
    const lines = (): readonly unknown[] => proxy.log.filter((line) => line['requestId'] === 'gone-early');
    while (lines().length === 0)
      await new Promise((resolve) => {
        setTimeout(resolve, 5);
      });
    expect(lines()).toMatchObject([{ msg: 'request', status: 499, outcome: 'abandoned', errorCode: null }]);
    expect(lines()).toHaveLength(1);
  });

  it('does not affect the next client', async () => {
    proxy.use(says([{ text: 'Still here.' }]));
    expect((await client.openai.responses.create(ASK)).output_text).toBe('Still here.');
  });
});

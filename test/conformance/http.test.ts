import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { expectMatchesSchema } from '../support/schema.ts';
import { hello, http400, reasoningThenText, says } from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';

/** The HTTP interface: keys, ids, errors, headers, logs. */

const ASK = { model: 'gpt-5.5', input: 'the secret of the client' };
const KEYS = ['sk-first-key-0123456789', 'sk-second-key-0123456789'];

const proxy = await openProxy(hello, {
  PROXY_API_KEY: ['sk-test-key-0123456789', ...KEYS].join(', '),
  PROXY_MAX_BODY_BYTES: '20000',
});

const bare = (path: string, init: RequestInit = {}): Promise<Response> => fetch(proxy.url + path, init);
const withKey = (key: string): RequestInit => ({ headers: { authorization: key } });
const errorOf = async (answer: Response): Promise<unknown> => {
  const body = (await answer.json()) as { error: unknown };
  expectMatchesSchema('ErrorResponse', body);
  expect(Object.keys(body)).toEqual(['error']);
  return body.error;
};
const linesOf = (requestId: string | null): readonly Record<string, unknown>[] =>
  proxy.log.filter((line) => line['requestId'] === requestId);
const MINTED = /^req_[0-9a-f]{32}$/;

describe('keys', () => {
  it.each([
    ['no header', {}, "You didn't provide an API key."],
    ['an empty key', withKey('Bearer '), "You didn't provide an API key."],
    ['another scheme', withKey('Basic c2stdGVzdA=='), "You didn't provide an API key."],
    ['a wrong key', withKey('Bearer sk-wrong-key-0123456789'), 'Incorrect API key provided: sk-wr***89.'],
    ['a part of a key', withKey('Bearer sk-first-key'), 'Incorrect API key provided: sk-fi***ey.'],
    ['all keys at once', withKey(`Bearer ${KEYS.join(',')}`), 'Incorrect API key provided: sk-fi***89.'],
  ])('%s: 401', async (_, init, message) => {
    const answer = await bare('/v1/models', init);
    expect([answer.status, await errorOf(answer)]).toEqual([
      401,
      {
        message: expect.stringContaining(message),
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key',
      },
    ]);
  });

  it.each([`Bearer ${KEYS[0]}`, `bearer  ${KEYS[1]} `])('each of them is accepted (%#)', async (key) => {
    const answer = await bare('/v1/models', withKey(key));
    expect(answer.status).toBe(200);
  });

  it('are checked before the body is read', async () => {
    const answer = await bare('/v1/responses', { method: 'POST', body: 'no JSON' });
    expect(answer.status).toBe(401);
  });

  it.each(['/healthz', '/readyz'])('are not required at %s', async (path) => {
    expect((await bare(path)).status).toBe(200);
  });
});

describe('unknown routes', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/v1'],
    ['POST', '/v1/nothing'],
    ['GET', '/v1/responses/resp_1/nothing/here'],
  ])('%s %s: 404', async (method, path) => {
    const answer = await bare(path, { method });
    expect([answer.status, await errorOf(answer)]).toEqual([
      404,
      {
        message: `Unknown request URL: ${method} ${path}.`,
        type: 'invalid_request_error',
        param: null,
        code: 'unknown_url',
      },
    ]);
  });

  it('explain a missing /v1 in the base URL', async () => {
    const answer = await bare('/chat/completions', { method: 'POST' });
    expect([answer.status, await errorOf(answer)]).toMatchObject([
      404,
      {
        message:
          'Unknown request URL: POST /chat/completions. Use /v1/chat/completions: the base URL of a client is the address of this server followed by /v1.',
        code: 'unknown_url',
      },
    ]);
  });

  it.each([
    ['PUT', '/v1/responses', 'POST, GET'],
    ['DELETE', '/v1/models', 'GET'],
    ['POST', '/healthz', 'GET'],
  ])('%s %s: 405', async (method, path, allowed) => {
    const answer = await bare(path, { method });
    expect([answer.status, answer.headers.get('allow'), await errorOf(answer)]).toEqual([
      405,
      allowed,
      {
        message: `Not allowed to ${method} on ${path}.`,
        type: 'invalid_request_error',
        param: null,
        code: 'method_not_allowed',
      },
    ]);
  });
});

describe('bodies', () => {
  const send = (body: string): Promise<Response> => proxy.post('/v1/responses', null, { body });

  it('too large: 413', async () => {
    const answer = await send(JSON.stringify({ ...ASK, input: 'x'.repeat(20_000) }));
    expect([answer.status, await errorOf(answer)]).toEqual([
      413,
      {
        message: 'The request body is larger than the 20000 bytes allowed.',
        type: 'invalid_request_error',
        param: null,
        code: 'request_too_large',
      },
    ]);
  });

  it.each(['', 'hi', '{', '{"model":"gpt-5.5",}', "{'model':1}"])('not JSON (%#): 400', async (body) => {
    const answer = await send(body);
    expect([answer.status, await errorOf(answer)]).toEqual([
      400,
      {
        message: 'We could not parse the JSON body of your request.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_json',
      },
    ]);
  });

  it.each(['[]', 'null', '"x"', '1'])('JSON but not an object (%s): 400', async (body) => {
    const answer = await send(body);
    expect([answer.status, await errorOf(answer)]).toMatchObject([
      400,
      { code: 'invalid_type', param: null },
    ]);
  });

  it('any content type is accepted', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', ASK, { headers: { 'content-type': 'text/plain' } });
    expect(answer.status).toBe(200);
  });
});

describe('the request id', () => {
  it.each(['trace-1.a:b_c', 'x', 'a'.repeat(128)])('of the client is used if valid (%#)', async (id) => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', ASK, { headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toBe(id);
  });

  it.each(['two words', 'a'.repeat(129), 'a,b', '<b>'])('is replaced if invalid (%#)', async (id) => {
    const answer = await bare('/healthz', { headers: { 'x-request-id': id } });
    expect(answer.headers.get('x-request-id')).toMatch(MINTED);
  });

  it.each([
    ['an answer', () => proxy.post('/v1/responses', ASK), 200],
    ['a stream', () => proxy.post('/v1/responses', { ...ASK, stream: true }), 200],
    ['a list of models', () => proxy.get('/v1/models'), 200],
    ['health', () => bare('/healthz'), 200],
    ['metrics', () => proxy.get('/metrics'), 200],
    ['a 400', () => proxy.post('/v1/responses', { ...ASK, temperature: 9 }), 400],
    ['a 401', () => bare('/v1/models'), 401],
    ['a 404', () => bare('/nowhere'), 404],
    ['a 405', () => bare('/v1/models', { method: 'PATCH' }), 405],
    ['a 413', () => proxy.post('/v1/responses', { input: 'x'.repeat(30_000) }), 413],
  ])('is on %s, and on one access line', async (_, ask, status) => {
    proxy.use(hello);
    const answer = await ask();
    await answer.text();
    const id = answer.headers.get('x-request-id');
    expect([answer.status, id]).toEqual([status, expect.stringMatching(MINTED)]);
    await expect.poll(() => linesOf(id)).toMatchObject([{ msg: 'request', status }]);
  });
});

describe('the access line', () => {
  it('has only ids, times and counts', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', { ...ASK, stream: true });
    await answer.text();
    const id = answer.headers.get('x-request-id');
    await expect.poll(() => linesOf(id).length).toBe(1);
    expect(linesOf(id)).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        msg: 'request',
        requestId: id,
        method: 'POST',
        route: '/v1/responses',
        status: 200,
        model: 'gpt-5.5',
        stream: true,
        keyId: expect.stringMatching(/^key_[\w-]{22}$/),
        client: { family: 'other', tier: 'none', reasons: [] },
        named: null,
        request: { items: 1, tools: 0, images: 0, bytes: expect.any(Number) },
        traceparent: null,
        copilotTraceId: null,
        intercept: null,
        firstEventMs: expect.any(Number),
        durationMs: expect.any(Number),
        outcome: 'completed',
        inputTokens: 11,
        outputTokens: 7,
        errorCode: null,
      },
    ]);
  });

  it('has the pattern of the route instead of the path', async () => {
    const answer = await proxy.get('/v1/models/some/model');
    expect(linesOf(answer.headers.get('x-request-id'))).toMatchObject([
      { route: '/v1/models/:id', status: 404, errorCode: 'model_not_found' },
    ]);
  });

  it('contains no key and no content, nor does any other log line', async () => {
    proxy.use(says([{ text: 'the secret of the model' }]));
    await (await proxy.post('/v1/responses', { ...ASK, instructions: 'the secret of the client' })).text();
    proxy.use(http400());
    await (await proxy.post('/v1/responses', ASK)).text();
    await (await bare('/v1/models', withKey('Bearer sk-of-a-stranger-123'))).text();
    const log = JSON.stringify(proxy.log);
    expect(proxy.log.length).toBeGreaterThan(3);
    expect(log).not.toMatch(/secret of|sk-test|sk-first|sk-second|sk-of-a-stranger/);
  });
});

describe('the layout of the output', () => {
  const typesOf = async (headers: Record<string, string>): Promise<unknown> => {
    proxy.use(reasoningThenText);
    const answer = await proxy.post('/v1/responses', ASK, { headers });
    return ((await answer.json()) as { output: { type: string }[] }).output.map((item) => item.type);
  };

  it.each([
    ['natural by itself', {}, ['reasoning', 'message']],
    ['message-first when the header says so', { 'x-proxy-output-layout': 'message-first' }, ['message']],
    [
      'as the header says, also for clients of codex',
      { originator: 'codex_cli_rs', 'x-proxy-output-layout': 'message-first' },
      ['message'],
    ],
  ])('%s', async (_, headers, types) => {
    expect(await typesOf(headers)).toEqual(types);
  });

  it('is rejected with 400 if unknown', async () => {
    const answer = await proxy.post('/v1/responses', ASK, { headers: { 'x-proxy-output-layout': 'big' } });
    expect([answer.status, await errorOf(answer)]).toEqual([
      400,
      {
        message: "Invalid value: 'big'. Supported values are: 'message-first' and 'natural'.",
        type: 'invalid_request_error',
        param: 'x-proxy-output-layout',
        code: 'invalid_value',
      },
    ]);
  });
});

describe('parameters without effect', () => {
  it('are named in a header', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', {
      ...ASK,
      colour: 'purple',
      reasoning: { depth: 3 },
      input: [{ role: 'user', content: 'hi', mood: 'good' }],
    });
    expect([answer.status, answer.headers.get('x-proxy-ignored-params')]).toEqual([
      200,
      'colour, reasoning.depth, input[0].mood',
    ]);
  });

  it('need no header if all have an effect', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', ASK);
    expect(answer.headers.get('x-proxy-ignored-params')).toBeNull();
  });
});

describe('a stream', () => {
  it('has SSE headers, an event name on each frame, and ends with [DONE]', async () => {
    proxy.use(hello);
    const answer = await proxy.post('/v1/responses', { ...ASK, stream: true });
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-cache, no-transform');
    expect(answer.headers.get('x-accel-buffering')).toBe('no');
    const frames = await collectSse(answer);
    expect(frames.at(-1)).toEqual({ event: 'done', data: '[DONE]' });
    const events = eventsOf(frames);
    expect(frames.slice(0, -1).map((frame) => frame.event)).toEqual(events.map((event) => event['type']));
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, index) => index));
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import {
  failed,
  http400,
  http401,
  http404Model,
  http429,
  inTurn,
  says,
  usageLimit,
} from '../support/scripts.ts';

let proxy: TestProxy;
beforeAll(async () => {
  proxy = await startProxy(says([]));
});
afterAll(() => proxy.close());

const ASK = { model: 'gpt-5.5', input: 'hi' } as const;

interface Expected {
  readonly status: number;
  readonly error: Record<string, unknown>;
  readonly headers?: Record<string, string | null>;
}

/** In messages, `{host}` stands for the backend's host and `{time}` for a time. */
const answered = async (script: Script, stream: boolean): Promise<Expected & { headers: Headers }> => {
  proxy.use(script);
  const response = await proxy.post('/v1/responses', { ...ASK, stream });
  const { error } = (await response.json()) as { error: Record<string, unknown> };
  const message = String(error['message'])
    .replace(new URL(proxy.model.baseUrl).host, '{host}')
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, '{time}');
  return { status: response.status, error: { ...error, message }, headers: response.headers as never };
};

const replies =
  (status: number, body: JsonObject | string, headers: Record<string, string> = {}): Script =>
  (_request, connection) =>
    connection.reply(status, body, headers);

/** Said in the stream, as its first word. */
const fails =
  (error: JsonObject): Script =>
  (_request, connection) => {
    connection.event({ type: 'response.created', response: { id: 'resp_1' } });
    connection.event({ type: 'response.failed', response: { id: 'resp_1', status: 'failed', error } });
  };

const plan = { 'x-codex-primary-used-percent': '97', 'x-codex-plan-type': 'plus' };

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
        status: 502,
        error: {
          message:
            'The upstream refused the credentials of this server. Whoever runs it has to sign in again there, or check PROXY_UPSTREAM_API_KEY.',
          type: 'server_error',
          param: null,
          code: 'upstream_unauthorized',
        },
        headers: { 'x-should-retry': 'false' },
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
          param: 'input',
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
          message:
            'The backend refused: the account behind this server has used up its limit, until {time}. It said: The usage limit has been reached',
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
          message: 'The upstream at {host} had an error while processing the request (it answered 500).',
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
        error: {
          message:
            'The backend refused: the account behind this server has used up its limit. It said: Used up.',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
        headers: { 'x-should-retry': 'false' },
      },
    ],
    [
      'a used-up plan in the stream',
      fails({
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        resets_in_seconds: 3600,
      }),
      {
        status: 429,
        error: {
          message:
            'The backend refused: the account behind this server has used up its limit, until {time}. It said: The usage limit has been reached',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
        headers: { 'retry-after': '3600', 'x-should-retry': 'false' },
      },
    ],
    ...['cyber_policy', 'bio_policy', 'misalignment_policy_violation', 'content_policy_violation'].flatMap(
      (code): (readonly [string, Script, Expected])[] => {
        const error = {
          message: 'We cannot help with that.',
          type: 'invalid_request_error',
          param: null,
          code,
        };
        return [
          [`${code} as an HTTP error`, replies(400, { error }), { status: 400, error }],
          [`${code} in the stream`, fails(error), { status: 400, error }],
        ];
      },
    ),
    [
      'a model that the account may not use',
      replies(400, {
        detail: "The 'gpt-5.5' model is not supported when using Codex with a ChatGPT account.",
      }),
      {
        status: 404,
        error: {
          message: "The 'gpt-5.5' model is not supported when using Codex with a ChatGPT account.",
          type: 'invalid_request_error',
          param: 'model',
          code: 'model_not_found',
        },
      },
    ],
    [
      'an item that is not there any more',
      replies(404, { error: { message: "Item with id 'rs_1' not found.", code: null } }),
      {
        status: 400,
        error: {
          message: "Item with id 'rs_1' not found.",
          type: 'invalid_request_error',
          param: 'input',
          code: 'invalid_prompt',
        },
      },
    ],
    [
      'reasoning of another account',
      replies(400, { error: { message: 'Could not be verified.', code: 'invalid_encrypted_content' } }),
      {
        status: 400,
        error: {
          message: 'Could not be verified.',
          type: 'invalid_request_error',
          param: 'input',
          code: 'invalid_encrypted_content',
        },
      },
    ],
    [
      'a path that is not there',
      replies(404, { detail: 'Not Found' }),
      {
        status: 502,
        error: {
          message:
            'The upstream at {host} has no such path (it answered 404). On the server, check PROXY_UPSTREAM_BASE_URL.',
          type: 'server_error',
          param: null,
          code: 'upstream_error',
        },
      },
    ],
    [
      'a page of Cloudflare',
      replies(403, '<!DOCTYPE html><html><head><title>Just a moment...</title></head></html>', {
        'content-type': 'text/html; charset=UTF-8',
        'cf-mitigated': 'challenge',
      }),
      {
        status: 502,
        error: {
          message: expect.stringMatching(/^Cloudflare, .* PROXY_WIRE=off or another network .*`doctor`/),
          type: 'server_error',
          param: null,
          code: 'upstream_blocked',
        },
      },
    ],
    [
      '429 of a plan, with how much of it is used',
      replies(429, { error: { message: 'Slow.' } }, plan),
      {
        status: 429,
        error: { message: 'Slow.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
        headers: { ...plan, 'x-codex-turn-state': null },
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

describe('a backend without capacity', () => {
  it.each([false, true])('that says so in its first event is asked again (stream: %s)', async (stream) => {
    const busy = fails({ code: 'server_is_overloaded', message: 'Busy.' });
    proxy.use(inTurn(busy, busy, says([{ text: 'Here I am.' }])));
    const before = proxy.model.requests.length;
    const response = await proxy.post('/v1/responses', { ...ASK, stream });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).toContain('Here I am.');
    expect(text).not.toContain('Busy.');
    expect(proxy.model.requests.length - before).toBe(3);
  });

  it('that goes on saying so is overloaded', async () => {
    const { status, error } = await answered(fails({ code: 'slow_down', message: 'Busy.' }), false);
    expect({ status, error }).toEqual({
      status: 503,
      error: { message: 'Busy.', type: 'server_error', param: null, code: 'upstream_overloaded' },
    });
  });
});

describe('a plan', () => {
  it('is told how much of it is used, on an answer too', async () => {
    proxy.use((request, connection) => {
      connection.open({ 'content-type': 'text/event-stream', ...plan, 'x-codex-turn-state': 'opaque' });
      return says([{ text: 'Hello.' }])(request, connection);
    });
    const { headers } = await proxy.post('/v1/responses', ASK);
    const told = Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-codex-')));
    expect(told).toEqual(plan);
  });
});

describe('a key', () => {
  it('that the backend quotes stays here', async () => {
    const key = 'b4re-key-0f-a-provider';
    const keyed = await startProxy(replies(400, { error: { message: `No such project for ${key}.` } }), {
      PROXY_UPSTREAM_API_KEY: key,
    });
    try {
      const response = await keyed.post('/v1/responses', ASK);
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          error: {
            message: 'No such project for ***.',
            type: 'invalid_request_error',
            param: null,
            code: 'invalid_prompt',
          },
        },
      ]);
    } finally {
      await keyed.close();
    }
  });
});

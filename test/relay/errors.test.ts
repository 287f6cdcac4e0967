import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import { failed, http400, http401, http404Model, http429, says, usageLimit } from '../support/scripts.ts';
import { answered, ASK, replies, USED_UP, type Case } from './answered.ts';

const proxy = await openProxy(says([]));

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
  const cases: readonly Case[] = [
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
      '401, without a mention of the key',
      http401,
      {
        status: 502,
        error: {
          message:
            'The upstream rejected the credentials of this server. Its operator has to sign in again, or to check PROXY_UPSTREAM_API_KEY.',
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
        status: 400,
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
    ['429 because the plan is used up', usageLimit(3600), USED_UP],
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
            'The backend refused: the account that this server uses has reached its limit. It said: Used up.',
          type: 'insufficient_quota',
          param: null,
          code: 'insufficient_quota',
        },
        headers: { 'x-should-retry': 'false' },
      },
    ],
  ];

  describe.each([
    ['as JSON', false],
    ['as a stream', true],
  ])('%s', (_, stream) => {
    it.each(cases)('%s', async (...one) => {
      expect(await answered(proxy, one, stream)).toEqual(one[2]);
    });
  });

  it('in the middle of an answer ends it with the same message', async () => {
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

import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { startProxy } from '../support/proxy.ts';
import { inTurn, says } from '../support/scripts.ts';
import { answered, ASK, fails, replies, USED_UP, type Case } from './answered.ts';

const proxy = await openProxy(says([]));

const plan = { 'x-codex-primary-used-percent': '97', 'x-codex-plan-type': 'plus' };

describe("errors of an account's backend", () => {
  const cases: readonly Case[] = [
    [
      'a used-up plan in the stream',
      fails({
        type: 'usage_limit_reached',
        message: 'The usage limit has been reached',
        resets_in_seconds: 3600,
      }),
      USED_UP,
    ],
    ...[
      'cyber_policy',
      'bio_policy',
      'misalignment_policy_violation',
      'content_policy_violation',
      'inference_hook_denied',
    ].flatMap((code): Case[] => {
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
    }),
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
            'The upstream at {host} does not have this path (it answered 404). On the server, check PROXY_UPSTREAM_BASE_URL.',
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
          message: expect.stringMatching(/^Cloudflare, .* PROXY_WIRE=off or another network; .*`doctor`/),
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
    it.each(cases)('%s', async (...one) => {
      expect(await answered(proxy, one, stream)).toEqual(one[2]);
    });
  });
});

describe('a backend without capacity', () => {
  it.each([false, true])('that reports it in its first event is retried (stream: %s)', async (stream) => {
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

  it('that keeps reporting it is overloaded', async () => {
    const error = { message: 'Busy.', type: 'server_error', param: null, code: 'upstream_overloaded' };
    const busy = fails({ code: 'slow_down', message: 'Busy.' });
    const expected = { status: 503, error };
    expect(await answered(proxy, ['slow_down', busy, expected], false)).toEqual(expected);
  });
});

describe('a plan', () => {
  it('reports how much of it is used, even with an answer', async () => {
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
  it('quoted by the backend is not passed on', async () => {
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

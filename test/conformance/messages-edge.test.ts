import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { fails, replies } from '../relay/answered.ts';
import { openProxy } from '../support/open-proxy.ts';
import {
  contextLengthExceeded,
  hello,
  http401,
  http404Model,
  http429,
  http500,
  usageLimit,
} from '../support/scripts.ts';

const WINDOW = 1_000;
const proxy = await openProxy(
  hello,
  {},
  {
    models: {
      object: 'list',
      data: [
        {
          id: 'gpt-5.5',
          object: 'model',
          created: 1_780_000_000,
          owned_by: 'openai',
          context_window: WINDOW,
        },
        { id: 'gpt-5.5-mini', object: 'model', created: 1_780_000_000, owned_by: 'openai' },
      ],
    },
  },
);
const options = { baseURL: proxy.url, maxRetries: 0 };
const anthropic = new Anthropic({ ...options, apiKey: proxy.key });
const ask = {
  model: 'claude-opus-5-5',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Hi.' }],
};

const errorOf = async (work: PromiseLike<unknown>): Promise<APIError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof APIError) return error;
    throw error;
  }
  throw new Error('the request succeeded');
};

const toldBy = (error: APIError) => {
  const { error: body } = error.error as { readonly error: { readonly message: string } };
  return {
    class: error.constructor.name,
    status: error.status,
    type: error.type,
    retry: error.headers?.get('x-should-retry') ?? error.headers?.get('retry-after') ?? null,
    message: body.message.replace(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/, '{time}').replace(/127[.:\d]+/, '{host}'),
  };
};

/** The numbers are those of this server's tokenizer. */
const LONG = { ...ask, messages: [{ role: 'user' as const, content: 'word '.repeat(1_500) }] };

describe.each([
  ['as JSON', false],
  ['as a stream', true],
])('an error of the backend %s', (_, stream) => {
  const rows: readonly [string, Script, object][] = [
    [
      '401',
      http401,
      {
        class: 'InternalServerError',
        status: 502,
        type: 'api_error',
        retry: 'false',
        message:
          'The upstream rejected the credentials of this server. Its operator has to sign in again, or to check PROXY_UPSTREAM_API_KEY.',
      },
    ],
    [
      '403',
      replies(403, { error: { message: 'Not in your country.' } }),
      {
        class: 'PermissionDeniedError',
        status: 403,
        type: 'permission_error',
        retry: null,
        message: 'Not in your country.',
      },
    ],
    [
      '404 for the model',
      http404Model('gpt-5.5'),
      {
        class: 'NotFoundError',
        status: 404,
        type: 'not_found_error',
        retry: null,
        message: 'model: claude-opus-5-5',
      },
    ],
    [
      '429',
      http429(7),
      {
        class: 'RateLimitError',
        status: 429,
        type: 'rate_limit_error',
        retry: '7',
        message: 'Rate limit reached for requests.',
      },
    ],
    [
      'a used-up plan',
      usageLimit(3600),
      {
        class: 'RateLimitError',
        status: 429,
        type: 'rate_limit_error',
        retry: 'false',
        message:
          'The backend refused: the account that this server uses has reached its limit, until {time}. It said: The usage limit has been reached',
      },
    ],
    [
      '500',
      http500,
      {
        class: 'InternalServerError',
        status: 502,
        type: 'api_error',
        retry: null,
        message: 'The upstream at {host} had an error while processing the request (it answered 500).',
      },
    ],
    [
      '503',
      replies(503, 'busy', { 'retry-after': '20' }),
      {
        class: 'OverloadedError',
        status: 529,
        type: 'overloaded_error',
        retry: '20',
        message: 'The upstream is overloaded. Please try again shortly.',
      },
    ],
    [
      'a context that is too long',
      replies(400, { error: { message: 'Too long.', code: 'context_length_exceeded' } }),
      {
        class: 'BadRequestError',
        status: 400,
        type: 'invalid_request_error',
        retry: null,
        message: 'prompt is too long: 1507 tokens > 1000 maximum',
      },
    ],
    [
      'a context that is too long, as an event',
      contextLengthExceeded,
      {
        class: 'BadRequestError',
        status: 400,
        type: 'invalid_request_error',
        retry: null,
        message: 'prompt is too long: 1507 tokens > 1000 maximum',
      },
    ],
    [
      'a context that is too long, in numbers',
      fails({
        code: 'context_length_exceeded',
        message:
          'Input tokens exceed the configured limit of 900 tokens. Your messages resulted in 2000 tokens.',
      }),
      {
        class: 'BadRequestError',
        status: 400,
        type: 'invalid_request_error',
        retry: null,
        message: 'prompt is too long: 2000 tokens > 900 maximum',
      },
    ],
  ];
  it.each(rows)('%s', async (_name, script, expected) => {
    proxy.use(script);
    const error = await errorOf(anthropic.messages.create({ ...LONG, stream }));
    expect(toldBy(error)).toEqual(expected);
    expect(error.requestID).toMatch(/^req_/);
  });
});

describe('keys', () => {
  it.each<[string, object]>([
    ['a bearer token', { authToken: proxy.key, apiKey: null }],
    ['x-api-key', { apiKey: null, defaultHeaders: { 'x-api-key': proxy.key } }],
    [
      'both, of which one is wrong',
      { authToken: 'sk-wrong', apiKey: null, defaultHeaders: { 'x-api-key': proxy.key } },
    ],
  ])('%s is accepted', async (_, key) => {
    proxy.use(hello);
    const message = await new Anthropic({ ...options, ...key }).messages.create(ask);
    expect(message.model).toBe('claude-opus-5-5');
  });

  it('a wrong one is not worth a retry', async () => {
    const error = await errorOf(new Anthropic({ ...options, apiKey: 'sk-wrong' }).messages.create(ask));
    expect(toldBy(error)).toEqual({
      class: 'AuthenticationError',
      status: 401,
      type: 'authentication_error',
      retry: 'false',
      message:
        'Incorrect API key provided: ***. Use the key of this server: its start-up message says where to find it.',
    });
  });
});

describe('models', () => {
  it.each([
    ['claude-opus-5-5', 'gpt-5.5'],
    ['claude-haiku-5-5', 'gpt-5.5-mini'],
    ['claude-gpt-5.5-mini', 'gpt-5.5-mini'],
    ['gpt-5.5', 'gpt-5.5'],
  ])('%s is answered by %s', async (model, served) => {
    proxy.use(hello);
    const message = await anthropic.messages.create({ ...ask, model });
    expect([message.model, proxy.model.requests.at(-1)?.body['model']]).toEqual([model, served]);
  });

  it('are listed page by page', async () => {
    const ids: string[] = [];
    for await (const { id } of anthropic.models.list({ limit: 2 })) ids.push(id);
    expect(ids).toEqual(
      expect.arrayContaining(['gpt-5.5', 'codex-5', 'claude-gpt-5.5', 'claude-gpt-5.5-mini']),
    );
    expect(new Set(ids).size).toBe(ids.length);
    expect(await anthropic.models.retrieve('claude-gpt-5.5')).toMatchObject({
      type: 'model',
      id: 'claude-gpt-5.5',
      created_at: '2026-05-28T20:26:40.000Z',
      max_input_tokens: WINDOW,
    });
    const unknown = await errorOf(anthropic.models.retrieve('gpt-9'));
    expect([unknown.status, unknown.type]).toEqual([404, 'not_found_error']);
  });

  it("keep OpenAI's form for other clients", async () => {
    const list = (await (await proxy.get('/v1/models')).json()) as Record<string, unknown>;
    expect(Object.keys(list)).toEqual(['object', 'data']);
    expect(JSON.stringify(list)).not.toContain('claude-');
  });
});

it('answers other endpoints of Anthropic with 404', async () => {
  const error = await errorOf(anthropic.messages.batches.list());
  expect([error.constructor.name, error.type]).toEqual(['NotFoundError', 'not_found_error']);
});

import Anthropic, {
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  OverloadedError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import {
  contextLengthExceeded,
  failed,
  hello,
  http400,
  http404Model,
  http429,
  http500,
  inTurn,
  says,
  usageLimit,
} from '../support/scripts.ts';
import { watch } from './claude-session.ts';

/** Errors as Anthropic's SDK sees them: by class, with the type, the message and the request id. */

const proxy = await openProxy(hello);
const clientOf = (apiKey: string, maxRetries: number): Anthropic =>
  new Anthropic({ baseURL: proxy.url, apiKey, maxRetries });
const anthropic = clientOf(proxy.key, 0);

const ask = (model = 'claude-opus-5-5') => ({
  model,
  max_tokens: 1024,
  messages: [{ role: 'user' as const, content: 'Hello?' }],
});
/** The same request as JSON and as a stream. */
const WAYS = [
  ['JSON', (client: Anthropic, body: ReturnType<typeof ask>) => client.messages.create(body)],
  [
    'a stream',
    (client: Anthropic, body: ReturnType<typeof ask>) => client.messages.stream(body).finalMessage(),
  ],
] as const;

describe.each(WAYS)('as %s', (_, create) => {
  it.each([
    ['a wrong value', http400(), BadRequestError, 400, 'invalid_request_error', /Invalid value: 'purple'/],
    [
      'a prompt that is too long',
      contextLengthExceeded,
      BadRequestError,
      400,
      'invalid_request_error',
      /^prompt is too long: /,
    ],
    ['a rate limit', http429(7), RateLimitError, 429, 'rate_limit_error', /Rate limit/],
    ['a used-up plan', usageLimit(), RateLimitError, 429, 'rate_limit_error', /usage limit/i],
    [
      'a full backend',
      failed('server_is_overloaded', 'Too many users.'),
      OverloadedError,
      529,
      'overloaded_error',
      /./,
    ],
    ['a broken backend', http500, InternalServerError, 502, 'api_error', /./],
  ])('%s has its class', async (_name, script, errorClass, status, type, message) => {
    watch(proxy, script);
    const error: unknown = await create(anthropic, ask()).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(errorClass);
    expect(error).toMatchObject({
      status,
      type,
      apiMessage: expect.stringMatching(message),
      requestID: expect.any(String),
      error: { type: 'error', error: { type }, request_id: expect.any(String) },
    });
  });

  it('an unknown model is not found', async () => {
    watch(proxy, http404Model());
    const error: unknown = await create(anthropic, ask('no-such-model')).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotFoundError);
    expect(error).toMatchObject({
      type: 'not_found_error',
      apiMessage: expect.stringContaining('no-such-model'),
    });
  });

  it('a wrong key is not tried again', async () => {
    const before = proxy.log.length;
    const error: unknown = await create(clientOf('sk-wrong-0123456789', 2), ask()).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(AuthenticationError);
    expect(error).toMatchObject({ type: 'authentication_error' });
    expect(JSON.stringify(error)).not.toContain('sk-wrong-0123456789');
    expect(proxy.log.slice(before).filter(({ status }) => status === 401)).toHaveLength(1);
  });

  it('a rate limit is waited for', async () => {
    const sent = watch(proxy, inTurn(http429(1), hello));
    const { content } = await create(clientOf(proxy.key, 1), ask());
    expect(content).toMatchObject([{ text: 'Hello from the scripted model.' }]);
    expect(sent()).toHaveLength(2);
  });
});

it('a failure in the middle of a stream has its type', async () => {
  const broken = { code: 'server_error', message: 'The model had an accident.' };
  watch(proxy, says([{ text: 'This far', end: 'open' }, { fail: broken }]));
  const texts: string[] = [];
  const stream = anthropic.messages.stream(ask()).on('text', (delta) => void texts.push(delta));
  await expect(stream.finalMessage()).rejects.toMatchObject({ type: 'api_error' });
  expect(texts.join('')).toBe('This far');
});

it.each([
  ['a missing limit', { ...ask(), max_tokens: undefined }, /^max_tokens: /],
  ['a wrong role', { ...ask(), messages: [{ role: 'friend', content: 'Hello?' }] }, /^messages\[0\]\.role: /],
  [
    'a result without its call',
    {
      ...ask(),
      messages: [
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_0', content: 'Rain.' }] },
      ],
    },
    /^messages\[0\]\.content\[0\]/,
  ],
  [
    "a tool of Anthropic's",
    { ...ask(), tools: [{ type: 'code_execution_20250825', name: 'code_execution' }] },
    /tools\[0\]\.type/,
  ],
  [
    'a server of MCP that is not configured',
    { ...ask(), mcp_servers: [{ type: 'url', name: 'a' }] },
    /mcp_servers\[0\]/,
  ],
])('%s is refused by name', async (_, body, message) => {
  const sent = watch(proxy, hello);
  const error: unknown = await anthropic.messages
    .create(body as unknown as ReturnType<typeof ask>)
    .catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(BadRequestError);
  expect(error).toMatchObject({ type: 'invalid_request_error', apiMessage: expect.stringMatching(message) });
  expect(sent()).toEqual([]);
});

it('what this server lacks is not found', async () => {
  await expect(anthropic.messages.batches.list()).rejects.toMatchObject({
    status: 404,
    type: 'not_found_error',
  });
});

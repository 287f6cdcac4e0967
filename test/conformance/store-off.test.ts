import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** `PROXY_STORE=off`: what needs a store is refused, and the rest works. */

const proxy = await openProxy(hello, { PROXY_STORE: 'off' });

const CONVERSATIONS =
  'This server stores nothing, so it has no conversations. Its operator set PROXY_STORE=off.';
const CHATS = 'This server stores no chat completions: its operator set PROXY_STORE=off.';

it.each([
  ['POST', '/v1/conversations', CONVERSATIONS],
  ['GET', '/v1/conversations/conv_1', CONVERSATIONS],
  ['DELETE', '/v1/conversations/conv_1/items/msg_1', CONVERSATIONS],
  ['GET', '/v1/chat/completions', CHATS],
  ['GET', '/v1/chat/completions/chatcmpl-1', CHATS],
])('%s %s is not supported', async (method, path, message) => {
  const answer = await proxy.post(path, {}, { method, ...(method === 'GET' ? { body: null } : {}) });
  expect([answer.status, await answer.json()]).toEqual([
    404,
    { error: { message, type: 'invalid_request_error', param: null, code: 'endpoint_not_supported' } },
  ]);
});

it('knows no conversation in a response', async () => {
  const answer = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', conversation: 'conv_1' });
  expect([answer.status, await answer.json()]).toMatchObject([
    404,
    { error: { message: "Conversation with id 'conv_1' not found.", code: null } },
  ]);
});

it('answers a chat with store: true, and names the parameter', async () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const answer = await proxy.post('/v1/chat/completions', { model: 'gpt-5.5', messages, store: true });
  expect([answer.status, answer.headers.get('x-proxy-ignored-params')]).toEqual([200, 'store']);
});

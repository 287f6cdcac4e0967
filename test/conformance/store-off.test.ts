import { expect, it } from 'vitest';

import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** `PROXY_STORE=off`: what needs a store is refused, and the rest works. */

const proxy = await openProxy(hello, { PROXY_STORE: 'off' });

const STORES_NOTHING =
  'This server stores nothing, so it does not have this endpoint. Its operator set PROXY_STORE=off.';

it.each([
  ['POST', '/v1/conversations', STORES_NOTHING],
  ['GET', '/v1/conversations/conv_1', STORES_NOTHING],
  ['DELETE', '/v1/conversations/conv_1/items/msg_1', STORES_NOTHING],
  ['GET', '/v1/codex/conversations', STORES_NOTHING],
  ['DELETE', '/v1/codex/conversations/seg_1', STORES_NOTHING],
  ['GET', '/v1/codex/keys', STORES_NOTHING],
  ['POST', '/v1/codex/keys', STORES_NOTHING],
  ['DELETE', '/v1/codex/keys/key_1', STORES_NOTHING],
  ['GET', '/v1/chat/completions', STORES_NOTHING],
  ['GET', '/v1/chat/completions/chatcmpl-1', STORES_NOTHING],
])('%s %s is not supported', async (method, path, message) => {
  const answer = await proxy.post(path, {}, { method, ...(method === 'GET' ? { body: null } : {}) });
  expect([answer.status, await answer.json()]).toEqual([
    404,
    { error: { message, type: 'invalid_request_error', param: null, code: 'endpoint_not_supported' } },
  ]);
});

const CANNOT = 'This server stores nothing (PROXY_STORE=off): send the whole conversation as input.';

it.each([
  [
    { conversation: 'conv_1' },
    404,
    { message: `Conversation with id 'conv_1' not found. ${CANNOT}`, param: null, code: null },
  ],
  [
    { previous_response_id: 'resp_1' },
    400,
    {
      message: `Previous response with id 'resp_1' not found. ${CANNOT}`,
      param: 'previous_response_id',
      code: 'previous_response_not_found',
    },
  ],
])('cannot continue %j, and says why', async (continued, status, error) => {
  const answer = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', ...continued });
  expect([answer.status, await answer.json()]).toEqual([
    status,
    { error: { ...error, type: 'invalid_request_error' } },
  ]);
});

it('has no response to show, and says why', async () => {
  const answer = await proxy.get('/v1/responses/resp_1');
  expect([answer.status, await answer.json()]).toEqual([
    404,
    {
      error: {
        message: "Response with id 'resp_1' not found. This server stores nothing (PROXY_STORE=off).",
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ]);
});

it('answers a chat with store: true, and names the parameter', async () => {
  const messages = [{ role: 'user', content: 'hi' }];
  const answer = await proxy.post('/v1/chat/completions', { model: 'gpt-5.5', messages, store: true });
  expect([answer.status, answer.headers.get('x-proxy-ignored-params')]).toEqual([200, 'store']);
});

it('shows the last requests from memory', async () => {
  const requestId = 'in-memory';
  const init = { headers: { 'x-request-id': requestId } };
  await (await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' }, init)).text();
  const list = await (await proxy.get(`/v1/codex/requests?q=${requestId}`)).json();
  expect(list).toMatchObject({
    source: 'memory',
    has_more: false,
    data: [{ request_id: requestId, status: 200 }],
  });
  const found = await (await proxy.get(`/v1/codex/requests/${requestId}`)).json();
  expect(found).toMatchObject({
    request_id: requestId,
    capture: { status: 'missing', message: expect.stringContaining('PROXY_CAPTURE_DIR') as unknown },
  });
});

import { expect, it, vi } from 'vitest';

import { gatewayError } from '../../src/canonical/failure/failure.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

/** A database that cannot be written: answers are not lost, and say that they were not stored. */

vi.mock(import('../../src/store/open-store.ts'), async (original) => {
  const real = await original();
  const fails = () => Promise.reject(gatewayError('store_unavailable'));
  return {
    openDatabase: async (options: Parameters<typeof real.openDatabase>[0]) => {
      const store = stateStoreOf(await real.openDatabase(options));
      return { ...store, chats: { ...store.chats, add: fails }, turns: { ...store.turns, commit: fails } };
    },
  };
});

const proxy = await openProxy(hello);
const ASK = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }], store: true };

it('shows a chat completion with a header', async () => {
  const answer = await proxy.post('/v1/chat/completions', ASK);
  expect([answer.status, answer.headers.get('x-proxy-store')]).toEqual([200, 'failed']);
  expect(await answer.json()).toMatchObject({ choices: [{ finish_reason: 'stop' }] });
  expect(proxy.log.map(({ msg }) => msg)).toContain('an answer could not be stored');
});

it('ends the stream of a chat completion with a comment', async () => {
  const answer = await proxy.post('/v1/chat/completions', { ...ASK, stream: true });
  expect(await answer.text()).toMatch(
    /"finish_reason":"stop".*\n\n: x-proxy-store: failed\n\ndata: \[DONE\]\n\n$/s,
  );
});

it('shows a response with store: false', async () => {
  const answer = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' });
  expect([answer.status, answer.headers.get('x-proxy-store')]).toEqual([200, 'failed']);
  expect(await answer.json()).toMatchObject({ status: 'completed', store: false });
});

it('fails a response in a conversation, which would go on without it', async () => {
  const { id } = await proxy.openai.conversations.create();
  const ask = { model: 'gpt-5.5', input: 'hi', conversation: id };
  const answer = await proxy.post('/v1/responses', ask);
  expect([answer.status, await answer.json()]).toMatchObject([503, { error: { code: 'store_unavailable' } }]);
  const streamed = await (await proxy.post('/v1/responses', { ...ask, stream: true })).text();
  expect(streamed).toContain('"type":"response.failed"');
  // The lock is free again.
  await proxy.openai.conversations.delete(id);
});

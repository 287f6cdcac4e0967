import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import Anthropic from '@anthropic-ai/sdk';
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { afterAll, expect, it } from 'vitest';

import { startModelServer, type Script } from '../../src/demo/model-server.ts';
import { startProxy } from '../support/proxy.ts';
import { hello, says, swappable } from '../support/scripts.ts';
import { itemsOf } from './rounds.ts';

/** What clients of Anthropic's API keep while the server restarts. */

const stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-restarts-'));
const { script, use } = swappable(hello);
/** One backend: reasoning of another one is not restored. */
const model = await startModelServer({ script, keepRequests: 10 });
afterAll(async () => {
  await model.close();
  await rm(stateDir, { recursive: true, force: true });
});

const thinks = says([
  { reasoning: { id: 'rs_1', summary: ['Look.', 'Ask.'], encrypted: 'sealed-1' } },
  { text: 'Rain.' },
]);
const THINKING = { type: 'adaptive' as const, display: 'summarized' as const };
const QUESTION: MessageParam = { role: 'user', content: 'Weather?' };

/** Starts a server, asks it once, and stops it. Returns the answer and the items that reached the model. */
const askOnce = async (answers: Script, messages: MessageParam[]) => {
  use(answers);
  const proxy = await startProxy(hello, {
    PROXY_STATE_DIR: stateDir,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
  });
  const client = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key, maxRetries: 0 });
  const ask = { model: 'claude-opus-5-5', max_tokens: 1024, thinking: THINKING, messages };
  try {
    const message: Message = await client.messages.create(ask);
    return { message, items: itemsOf(model.requests.at(-1)?.body ?? {}) };
  } finally {
    await proxy.close();
  }
};

it('thinking is restored by a server that has restarted', async () => {
  const { message } = await askOnce(thinks, [QUESTION]);
  const said: MessageParam = { role: 'assistant', content: message.content };
  const { items } = await askOnce(hello, [QUESTION, said, { role: 'user', content: 'And now?' }]);
  expect(items).toMatchObject([
    { role: 'user' },
    {
      type: 'reasoning',
      id: 'rs_1',
      summary: [
        { type: 'summary_text', text: 'Look.' },
        { type: 'summary_text', text: 'Ask.' },
      ],
      encrypted_content: 'sealed-1',
    },
    { role: 'assistant' },
    { role: 'user' },
  ]);
});

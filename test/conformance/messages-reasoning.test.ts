import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import Anthropic from '@anthropic-ai/sdk';
import type { ContentBlockParam, Message } from '@anthropic-ai/sdk/resources/messages';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';

import { startModelServer, type Script } from '../../src/demo/model-server.ts';
import { freshProxies } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { inTurn, says } from '../support/scripts.ts';
import { sentBody } from './responses-sent.ts';

/** Reasoning that a client of Anthropic's API keeps, without the memory of this server. */

const start = freshProxies();
let script: Script;
const model = await startModelServer({
  script: (request, connection) => script(request, connection),
  keepRequests: 20,
});
afterAll(() => model.close());

beforeEach(() => {
  script = inTurn(
    says([
      { reasoning: { summary: ['First.\n\nStill first.', 'Second.'], encrypted: 'sealed', id: 'rs_1' } },
      { call: { name: 'get_weather', arguments: { city: 'Rome' }, callId: 'call_1' } },
    ]),
    says([{ text: 'Sun.' }]),
  );
});

const REASONING = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [
    { type: 'summary_text', text: 'First.\n\nStill first.' },
    { type: 'summary_text', text: 'Second.' },
  ],
  encrypted_content: 'sealed',
};

const serve = (dir: string, env: Readonly<Record<string, string>>): Promise<TestProxy> =>
  start(() => {}, {
    PROXY_STATE_DIR: dir,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_REASONING_MEMORY_MB: '0',
    ...env,
  });

const clientOf = ({ url, key }: TestProxy): Anthropic => new Anthropic({ baseURL: url, apiKey: key });

const QUESTION = { role: 'user' as const, content: 'Weather?' };
const ASK = {
  model: 'gpt-5.5',
  max_tokens: 100,
  tools: [{ name: 'get_weather', input_schema: { type: 'object' as const } }],
};

type Display = 'summarized' | 'omitted';

const firstRound = (proxy: TestProxy, display: Display): Promise<Message> =>
  clientOf(proxy)
    .messages.stream({ ...ASK, thinking: { type: 'adaptive', display }, messages: [QUESTION] })
    .finalMessage();

/** The reasoning that the model gets in the second round. */
const secondRound = async (proxy: TestProxy, content: readonly ContentBlockParam[]) => {
  const result = { type: 'tool_result' as const, tool_use_id: 'call_1', content: 'Sun.' };
  const { stop_reason: reason } = await clientOf(proxy).messages.create({
    ...ASK,
    messages: [QUESTION, { role: 'assistant', content: [...content] }, { role: 'user', content: [result] }],
  });
  expect(reason).toBe('end_turn');
  // With their ids, unlike `sentItems`.
  const items = sentBody(model)['input'] as readonly { readonly type: string }[];
  const at = items.findIndex(({ type }) => type === 'reasoning');
  return at === -1 ? null : { item: items[at], before: items[at + 1]?.type };
};

describe('reasoning in a signature', () => {
  it.each<readonly [string, Display]>([
    ['on', 'summarized'],
    ['on', 'omitted'],
    ['off', 'summarized'],
  ])('comes back after a restart (PROXY_STORE=%s, %s)', async (store, display) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'messages-reasoning-'));
    const first = await serve(dir, { PROXY_STORE: store });
    const { content } = await firstRound(first, display);
    const thinking = display === 'omitted' ? '' : 'First.\n\nStill first.\n\nSecond.';
    expect(content).toMatchObject([
      { type: 'thinking', thinking },
      { type: 'tool_use', id: 'call_1', input: { city: 'Rome' } },
    ]);
    await first.close();
    expect(await secondRound(await serve(dir, { PROXY_STORE: store }), content)).toEqual({
      item: REASONING,
      before: 'function_call',
    });
    await rm(dir, { recursive: true, force: true });
  });

  it('is left out if it is of another server or of Claude', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'messages-reasoning-'));
    const proxy = await serve(dir, {});
    const { content } = await firstRound(proxy, 'summarized');
    const signed = (signature: string): ContentBlockParam[] =>
      content.map((block) => (block.type === 'thinking' ? { ...block, signature } : block));
    expect(await secondRound(proxy, signed('EpABClaude'))).toBe(null);
    expect(await secondRound(proxy, signed(''))).toBe(null);
    const redacted = { type: 'redacted_thinking' as const, data: 'EpABClaude' };
    expect(await secondRound(proxy, [redacted, ...content.slice(1)])).toBe(null);
    await rm(dir, { recursive: true, force: true });
  });
});

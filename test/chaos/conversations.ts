import { setTimeout as sleep } from 'node:timers/promises';

import OpenAI from 'openai';
import { expect } from 'vitest';

import { closeForGood, eventually } from '../faults/settle.ts';
import { startWatchedProxy } from '../faults/workers.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { lead, type Tally } from './conversation-client.ts';
import { TalkingModel } from './conversation-model.ts';
import { conversationOf } from './conversation-plan.ts';
import { signalWorker } from './faults.ts';
import { settle } from './invariants.ts';
import { randomOf } from './random.ts';

export interface ConversationsOptions {
  readonly seed: number;
  /** Number of concurrent conversations. */
  readonly conversations: number;
  readonly workers: number;
  /** Average time between two kills. */
  readonly killEveryMs: number;
  /** No more kills after these: no conversation could end while every worker dies in its middle. */
  readonly maxKills: number;
}

const RETRIES = 10;

/** Kills workers until stopped; returns how many. */
const killing = async (
  proxy: TestProxy,
  options: ConversationsOptions,
  end: AbortSignal,
): Promise<number> => {
  const random = randomOf(options.seed, 'kills');
  let kills = 0;
  while (!end.aborted && kills < options.maxKills) {
    const wait = random.between(options.killEveryMs / 2, options.killEveryMs * 1.5);
    await sleep(wait, undefined, { signal: end }).catch(() => {});
    if (!end.aborted && signalWorker(proxy, random, 'SIGKILL')) kills += 1;
  }
  return kills;
};

const metric = async (proxy: TestProxy, name: string): Promise<number> => {
  const page = await (await proxy.get('/metrics')).text();
  return Number(new RegExp(`^${name} (\\d+)$`, 'mu').exec(page)?.[1]);
};

/**
 * Runs tool conversations on both APIs at once while workers die and are replaced; returns which went wrong.
 */
export const runConversations = async (options: ConversationsOptions): Promise<readonly string[]> => {
  const { seed, workers } = options;
  const plans = Array.from({ length: options.conversations }, (_, index) => conversationOf(seed, index));
  const model = new TalkingModel(plans);
  const proxy = await startWatchedProxy(hello, {
    PROXY_WORKERS: String(workers),
    // So little that a busy worker is soon replaced.
    PROXY_WORKER_MAX_RSS_MB: '120',
  });
  try {
    const ready = (): number => proxy.app.workers().filter(({ state }) => state === 'ready').length;
    await eventually(ready, (count) => count === workers);
    proxy.use(model.script);
    const openai = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key, maxRetries: RETRIES });
    const tally: Tally = { answers: 0, askedAgain: 0 };
    const over = new AbortController();
    const startedAt = Date.now();
    const kills = killing(proxy, options, over.signal);
    const ends = await Promise.all(
      plans.map((plan) =>
        lead(openai, plan, tally).catch((error: unknown) => `${plan.name}: ${String(error)}`),
      ),
    );
    over.abort();
    const lines = (name: string): number => proxy.log.filter((line) => line['msg'] === name).length;
    const seen = {
      conversations: plans.length,
      ...tally,
      modelAnswers: model.answers,
      recalled: model.recalled,
      kills: await kills,
      retiring: lines('worker-worn'),
      // Sent before any part of an answer; the SDK retried.
      told5xx: proxy.log.filter(({ status }) => typeof status === 'number' && status >= 500).length,
      seconds: Math.round((Date.now() - startedAt) / 1000),
      memoryBytes: await metric(proxy, 'proxy_reasoning_memory_bytes'),
    };
    console.log('conversations:', JSON.stringify(seen));
    await settle(proxy, workers);
    expect(await metric(proxy, 'proxy_turns_active')).toBe(0);
    // Without kills and reasoning the test proves nothing.
    expect([seen.kills > 0, seen.recalled > 0, seen.memoryBytes > 0]).toEqual([true, true, true]);
    expect(seen.memoryBytes).toBeLessThan(plans.length * 6 * 3_000);
    return ends.filter((end) => end !== null);
  } finally {
    await closeForGood(proxy);
  }
};

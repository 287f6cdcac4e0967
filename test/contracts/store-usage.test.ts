import { describe, expect, it } from 'vitest';

import { MemoryUsage } from '../../src/features/usage/memory-usage.ts';
import { usageStore, type UsageStore } from '../../src/features/usage/store.ts';
import { NO_USAGE } from '../../src/features/usage/usage-counts.ts';
import { partOf } from '../../src/store/part.ts';
import { describeStores } from '../support/store-harness.ts';
import { usageRow } from '../support/usage-rows.ts';

const HOUR = 60 * 60_000;
const DAY = 24 * HOUR;
/** A day of UTC. */
const START = 20_000 * DAY;

interface Opened {
  readonly usage: UsageStore;
  readonly clock: { time: number };
}

/** The same tests for both databases and for a server without one. Each test has its own year. */
const keepsUsage = (open: () => Opened): void => {
  const rangeOf = (from: number, to: number, width: number, keyIds: readonly string[] | null = null) => ({
    from,
    to,
    width,
    keyIds,
  });

  it('adds up rows by bucket and group', async () => {
    const { usage } = open();
    await usage.put([
      usageRow('a1', { hour: START, inputTokens: 1 }),
      usageRow('a2', { hour: START, inputTokens: 2, model: 'other', cachedTokens: 5 }),
      usageRow('a3', { hour: START + HOUR, inputTokens: 4, keyId: 'bob', client: 'cline' }),
      usageRow('a4', { hour: START + DAY, inputTokens: 8, upstreamErrors: 1, durationMs: 0 }),
      usageRow('a5', { hour: START + 2 * DAY, inputTokens: 16 }),
    ]);
    const range = rangeOf(START, START + 2 * DAY, DAY);
    const asked = { ...range, models: null, limit: 10 };
    const labels = { keyId: null, model: null, client: null };
    expect(await usage.sums({ ...asked, by: [] })).toEqual([
      {
        ...NO_USAGE,
        ...labels,
        start: START,
        requests: 3,
        inputTokens: 7,
        cachedTokens: 5,
        outputTokens: 3,
        durationMs: 300,
      },
      {
        ...NO_USAGE,
        ...labels,
        start: START + DAY,
        requests: 1,
        inputTokens: 8,
        upstreamErrors: 1,
        outputTokens: 1,
      },
    ]);
    const shown = async (different: Partial<Parameters<UsageStore['sums']>[0]>) =>
      (await usage.sums({ ...asked, by: ['keyId', 'model', 'client'], ...different })).map((sum) => [
        (sum.start - START) / HOUR,
        sum.keyId,
        sum.model,
        sum.client,
        sum.inputTokens,
      ]);
    expect(await shown({})).toEqual([
      [0, 'bob', 'gpt', 'cline', 4],
      [0, 'key', 'gpt', 'codex', 1],
      [0, 'key', 'other', 'codex', 2],
      [24, 'key', 'gpt', 'codex', 8],
    ]);
    expect(await shown({ width: HOUR, by: ['model'], limit: 3 })).toEqual([
      [0, null, 'gpt', null, 1],
      [0, null, 'other', null, 2],
      [1, null, 'gpt', null, 4],
    ]);
    expect(await shown({ keyIds: ['bob', 'unknown'] })).toEqual([[0, 'bob', 'gpt', 'cline', 4]]);
    expect(await shown({ models: ['other'] })).toEqual([[0, 'key', 'other', 'codex', 2]]);
    expect(await shown({ width: Number.MAX_SAFE_INTEGER, by: [] })).toEqual([
      [-START / HOUR, null, null, null, 15],
    ]);
    expect(await shown({ from: START + 3 * DAY, to: START + 4 * DAY })).toEqual([]);
  });

  it('keeps the row with more requests, whenever it comes', async () => {
    const { usage } = open();
    const hour = START + 365 * DAY;
    const write = (requests: number, inputTokens: number, durations: string) =>
      usage.put([usageRow('b1', { hour, requests, inputTokens, durations })]);
    await write(2, 20, '3:2');
    await write(5, 50, '3:5');
    await write(5, 50, '3:5');
    await write(3, 30, '3:3');
    const range = rangeOf(hour, hour + HOUR, HOUR);
    const [sum, ...more] = await usage.sums({ ...range, models: null, by: [], limit: 10 });
    expect([sum?.requests, sum?.inputTokens, more]).toEqual([5, 50, []]);
    expect(await usage.latencies(range)).toEqual([{ start: hour, firstEvents: '10:1', durations: '3:5' }]);
  });

  it('adds up histograms, and those of one key', async () => {
    const { usage } = open();
    const day = START + 730 * DAY;
    await usage.put([
      usageRow('c1', { hour: day, firstEvents: '10:1', durations: '20:1 21:1' }),
      usageRow('c2', { hour: day + 5 * HOUR, firstEvents: '10:2 11:1', durations: '21:4', keyId: 'bob' }),
      usageRow('c3', { hour: day + 5 * HOUR, firstEvents: '', durations: '' }),
      usageRow('c4', { hour: day + 29 * HOUR, firstEvents: '1:1', durations: '2:1' }),
    ]);
    const to = day + 2 * DAY;
    expect(await usage.latencies(rangeOf(day, to, DAY))).toEqual([
      { start: day, firstEvents: '10:3 11:1', durations: '20:1 21:5' },
      { start: day + DAY, firstEvents: '1:1', durations: '2:1' },
    ]);
    expect(await usage.latencies(rangeOf(day, to, HOUR, ['bob']))).toEqual([
      { start: day + 5 * HOUR, firstEvents: '10:2 11:1', durations: '21:4' },
    ]);
  });

  it('does not know expired rows', async () => {
    const { usage, clock } = open();
    const hour = START + 1_095 * DAY;
    await usage.put([usageRow('d1', { hour, expiresAt: clock.time + DAY })]);
    const range = rangeOf(hour, hour + HOUR, HOUR);
    expect(await usage.latencies(range)).toHaveLength(1);
    clock.time += DAY;
    expect(await usage.latencies(range)).toEqual([]);
    expect(await usage.sums({ ...range, models: null, by: [], limit: 10 })).toEqual([]);
  });
};

describeStores('usage', (open) =>
  keepsUsage(() => {
    const { store, clock } = open();
    return { usage: partOf(store, usageStore), clock };
  }),
);

describe('usage in memory', () => {
  const clock = { time: Date.now(), now: () => clock.time };
  const memory = new MemoryUsage(clock);
  keepsUsage(() => ({ usage: memory, clock }));

  it('drops the oldest rows beyond its maximum', async () => {
    const small = new MemoryUsage(clock, 2);
    await small.put(['a', 'b', 'c'].map((id, index) => usageRow(id, { hour: index * HOUR })));
    const sums = await small.sums({
      from: 0,
      to: DAY,
      width: HOUR,
      keyIds: null,
      models: null,
      by: [],
      limit: 10,
    });
    expect(sums.map(({ start }) => start)).toEqual([HOUR, 2 * HOUR]);
  });
});

import { describe, expect, it } from 'vitest';

import { failureOf } from '../../../canonical/failure/failure.ts';
import { BackgroundLimits } from './background-limits.ts';

const never = new AbortController().signal;

const limitsOf = () => {
  const diary: string[] = [];
  const limits = new BackgroundLimits({
    maxResponses: 4,
    maxBytes: 100,
    waitMs: 30_000,
    isAdmin: (caller) => caller === 'admin',
    clock: { now: () => 0 },
    onRefused: () => diary.push('refused'),
  });
  const leaves = new Map<string, () => void>();
  /** "a1" belongs to the key "a". What happened since the last call. */
  const enter = async (name: string, bytes = 1, signal = never): Promise<readonly string[]> => {
    const caller = name.replace(/\d$/, '');
    const run = async (): Promise<void> => {
      try {
        leaves.set(name, await limits.enter(caller, bytes, signal));
        diary.push(`${name} in`);
      } catch (error) {
        const { status, code, message, retryAfterSeconds } = failureOf(error);
        const whose = /(on this server|of this API key)/.exec(message)?.[0];
        diary.push(`${name} ${status} ${code}, ${retryAfterSeconds} s: ${whose}`);
      }
    };
    void run();
    return news();
  };
  const news = async (): Promise<readonly string[]> => {
    for (let tick = 0; tick < 5; tick += 1) await Promise.resolve();
    return diary.splice(0);
  };
  const leave = (name: string): Promise<readonly string[]> => {
    leaves.get(name)?.();
    return news();
  };
  return { limits, enter, leave };
};

const OWN = '429 background_limit, 10 s: of this API key';
const ALL = '429 background_limit, 10 s: on this server';

describe('BackgroundLimits', () => {
  it('gives a key everything but the place of an administrator while it is alone', async () => {
    const { limits, enter } = limitsOf();
    for (const name of ['a1', 'a2', 'a3']) expect(await enter(name)).toEqual([`${name} in`]);
    expect(limits.free).toBe(0);
    expect(await enter('a4')).toEqual(['refused', `a4 ${ALL}`]);
    expect(await enter('admin1')).toEqual(['admin1 in']);
  });

  it('a key with less than its share gets the next place, and the key with the most none', async () => {
    const { enter, leave } = limitsOf();
    for (const name of ['a1', 'a2', 'a3']) await enter(name);
    expect(await enter('b1')).toEqual([]);
    expect(await enter('a4')).toEqual(['refused', `a4 ${OWN}`]);
    expect(await leave('a1')).toEqual(['b1 in']);
    expect(await enter('a5')).toEqual(['refused', `a5 ${OWN}`]);
  });

  it('does not wait for a client that has left', async () => {
    const { enter, leave } = limitsOf();
    for (const name of ['a1', 'a2', 'a3']) await enter(name);
    const client = new AbortController();
    await enter('b1', 1, client.signal);
    client.abort();
    await enter('c1');
    expect(await leave('a1')).toEqual(['c1 in']);
  });

  it('counts a large request as several, and accepts one of any size', async () => {
    const { enter, leave } = limitsOf();
    expect(await enter('a1', 1_000)).toEqual(['a1 in']);
    expect(await enter('a2')).toEqual(['refused', `a2 ${ALL}`]);
    await leave('a1');
    expect(await enter('a3', 50)).toEqual(['a3 in']);
    expect(await enter('a4')).toEqual(['a4 in']);
    expect(await enter('a5')).toEqual(['refused', `a5 ${ALL}`]);
  });
});

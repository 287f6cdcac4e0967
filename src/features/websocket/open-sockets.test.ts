import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { OpenSockets } from './open-sockets.ts';

interface FakeSocket {
  readonly caller: string;
  idleSince: number | null;
  closed: number | null;
  isEnding: boolean;
  close(code: number): void;
  giveWay(): void;
}

const socket = (caller: string, idleSince: number | null): FakeSocket => ({
  caller,
  idleSince,
  closed: null,
  isEnding: false,
  close(code) {
    this.closed = code;
  },
  giveWay() {
    this.isEnding = true;
  },
});

const never = new AbortController().signal;

const openAll = async (max: number, ...sockets: readonly FakeSocket[]) => {
  const counts: number[] = [];
  const all = new OpenSockets<FakeSocket>({
    max,
    isAdmin: (caller) => caller !== 'eve',
    clock: { now: () => 0 },
    onChange: (count) => counts.push(count),
  });
  for (const one of sockets) (await all.reserve(one.caller, never)).open(one);
  return { all, counts };
};

const refusal = async (reserving: Promise<unknown>): Promise<string | null> => {
  try {
    await reserving;
    return null;
  } catch (error) {
    return failureOf(error).code;
  }
};

const thrown = (run: () => unknown): string | null => {
  try {
    run();
    return null;
  } catch (error) {
    return failureOf(error).code;
  }
};

describe('OpenSockets', () => {
  it('counts those that are open, and limits them with those that are opening', async () => {
    const { all, counts } = await openAll(2, socket('ann', 0));
    const place = await all.reserve('ann', never);
    expect(await refusal(all.reserve('ann', never))).toBe('server_overloaded');
    place.giveUp();
    expect(await refusal(all.reserve('ann', never))).toBeNull();
    expect([counts, all.size]).toEqual([[1], 1]);
  });

  it('closes the longest idle one of the largest key for a key below its share', async () => {
    const sockets = [socket('ann', 5), socket('ann', 3), socket('ann', null), socket('bob', 1)];
    const { all } = await openAll(4, ...sockets);
    expect(await refusal(all.reserve('bob', never))).toBeNull();
    expect(sockets.map(({ closed }) => closed)).toEqual([null, 1013, null, null]);
    expect(all.size).toBe(3);
  });

  it('closes none for a key that has its share', async () => {
    const sockets = [socket('ann', 5), socket('ann', 3), socket('bob', 1), socket('bob', 1)];
    const { all } = await openAll(4, ...sockets);
    expect(await refusal(all.reserve('bob', never))).toBe('server_overloaded');
    expect(sockets.every(({ closed, isEnding }) => closed === null && !isEnding)).toBe(true);
  });

  it('a busy one of the largest key ends after what it does, and another key gets its place', async () => {
    const busy = [socket('ann', null), socket('ann', null)];
    const { all } = await openAll(2, ...busy);
    const [first, second] = [all.reserve('bob', never), all.reserve('bob', never)];
    expect(await refusal(second)).toBe('server_overloaded');
    expect(busy.map(({ isEnding }) => isEnding)).toEqual([true, false]);
    const again = all.reserve('ann', never);
    expect(await refusal(again)).toBe('server_overloaded');
    if (busy[0] !== undefined) all.delete(busy[0]);
    expect(await refusal(first)).toBeNull();
  });

  it('leaves the last place to an administrator', async () => {
    const { all } = await openAll(3, socket('eve', null), socket('eve', null));
    expect(await refusal(all.reserve('eve', never))).toBe('server_overloaded');
    expect(await refusal(all.reserve('admin', never))).toBeNull();
  });

  it('limits the requests that wait by key', async () => {
    const { all } = await openAll(1);
    const [queue, same, other] = [all.queueOf('ann'), all.queueOf('ann'), all.queueOf('bob')];
    for (let count = 0; count < 1_024; count += 1) queue.enter();
    expect([thrown(() => same.enter()), thrown(() => other.enter())]).toEqual(['concurrency_limit', null]);
    queue.leave();
    expect(thrown(() => same.enter())).toBeNull();
  });
});

import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { OpenSockets } from './open-sockets.ts';

interface FakeSocket {
  readonly caller: string;
  idleSince: number | null;
  closed: number | null;
  close(code: number): void;
}

const socket = (caller: string, idleSince: number | null): FakeSocket => ({
  caller,
  idleSince,
  closed: null,
  close(code) {
    this.closed = code;
  },
});

const open = (max: number, ...sockets: readonly FakeSocket[]) => {
  const counts: number[] = [];
  const all = new OpenSockets<FakeSocket>(max, (count) => counts.push(count));
  for (const one of sockets) all.add(one);
  return { all, counts };
};

const refusal = (run: () => unknown): string | null => {
  try {
    run();
    return null;
  } catch (error) {
    return failureOf(error).code;
  }
};

describe('OpenSockets', () => {
  it('counts those that are open, and limits them with those that are opening', () => {
    const { all, counts } = open(2, socket('ann', 0));
    const opened = all.reserve('ann');
    expect(refusal(() => all.reserve('ann'))).toBe('server_overloaded');
    opened();
    expect(refusal(() => all.reserve('ann'))).toBeNull();
    expect([counts, all.size]).toEqual([[1], 1]);
  });

  it('closes the longest idle one of the largest key for a key below its share', () => {
    const sockets = [socket('ann', 5), socket('ann', 3), socket('ann', null), socket('bob', 1)];
    const { all } = open(4, ...sockets);
    expect(refusal(() => all.reserve('bob'))).toBeNull();
    expect(sockets.map(({ closed }) => closed)).toEqual([null, 1013, null, null]);
    expect(all.size).toBe(3);
  });

  it('closes none for a key that has its share, and none that is busy', () => {
    const sockets = [socket('ann', 5), socket('ann', 3), socket('bob', 1), socket('bob', 1)];
    expect(refusal(() => open(4, ...sockets).all.reserve('bob'))).toBe('server_overloaded');
    const busy = [socket('ann', null), socket('ann', null)];
    expect(refusal(() => open(2, ...busy).all.reserve('bob'))).toBe('server_overloaded');
    expect([...sockets, ...busy].every(({ closed }) => closed === null)).toBe(true);
  });

  it('limits the requests that wait by key', () => {
    const { all } = open(1);
    const [queue, same, other] = [all.queueOf('ann'), all.queueOf('ann'), all.queueOf('bob')];
    for (let count = 0; count < 1_024; count += 1) queue.enter();
    expect([refusal(() => same.enter()), refusal(() => other.enter())]).toEqual(['concurrency_limit', null]);
    queue.leave();
    expect(refusal(() => same.enter())).toBeNull();
  });
});

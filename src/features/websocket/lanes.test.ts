import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { Lanes, type LaneJob } from './lanes.ts';

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

const open = (maxWaitingBytes = 1_000) => {
  const log: string[] = [];
  let queued = 0;
  const lanes = new Lanes({
    maxWaitingBytes,
    queue: {
      enter() {
        queued += 1;
      },
      leave() {
        queued -= 1;
      },
    },
    onIdle: () => log.push('idle'),
  });
  const ends = new Map<string, () => void>();
  const job = (name: string, lane: string | null, bytes = 1): LaneJob => ({
    lane,
    bytes,
    async run() {
      log.push(`${name} runs`);
      await new Promise<void>((resolve) => {
        ends.set(name, resolve);
      });
    },
    drop: () => log.push(`${name} dropped`),
  });
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await turn();
  };
  const refused = (one: LaneJob): unknown => {
    try {
      lanes.add(one);
      return null;
    } catch (error) {
      return failureOf(error).code;
    }
  };
  return { lanes, log, job, end, refused, queued: () => queued };
};

describe('Lanes', () => {
  it('runs the jobs of a lane one after the other, and lanes side by side', async () => {
    const { lanes, log, job, end, queued } = open();
    for (const [name, lane] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['b1', 'b'],
      ['n1', null],
      ['n2', null],
    ] as const) {
      lanes.add(job(name, lane));
    }
    expect([log, queued()]).toEqual([['a1 runs', 'b1 runs', 'n1 runs'], 2]);
    await end('n1');
    await end('a1');
    expect([log.slice(3), queued()]).toEqual([['n2 runs', 'a2 runs'], 0]);
    for (const name of ['a2', 'b1', 'n2']) await end(name);
    expect([log.slice(5), lanes.isIdle]).toEqual([['idle'], true]);
  });

  it('runs sixteen at once; the others wait in the order of their arrival', async () => {
    const { lanes, log, job, end } = open();
    for (let count = 0; count < 18; count += 1) lanes.add(job(`j${count}`, `lane-${count}`));
    expect(log).toHaveLength(16);
    await end('j3');
    await end('j0');
    expect(log.slice(16)).toEqual(['j16 runs', 'j17 runs']);
  });

  it('accepts 32 names, and those again', () => {
    const { lanes, job, refused } = open();
    for (let count = 0; count < 32; count += 1) lanes.add(job('x', `lane-${count}`));
    expect(refused(job('x', 'lane-32'))).toBe('websocket_stream_limit_reached');
    expect([refused(job('x', 'lane-0')), refused(job('x', null))]).toEqual([null, null]);
  });

  it('limits the jobs that wait, and their bytes', () => {
    const { lanes, job, refused, queued } = open(100);
    lanes.add(job('running', null, 1_000));
    expect(refused(job('large', null, 101))).toBe('concurrency_limit');
    for (let count = 0; count < 100; count += 1) lanes.add(job('x', null, 1));
    expect(refused(job('one more', null, 1))).toBe('concurrency_limit');
    for (let count = 0; count < 156; count += 1) lanes.add(job('x', null, 0));
    expect([refused(job('x', null, 0)), queued()]).toEqual(['concurrency_limit', 256]);
  });

  it('drops the jobs that wait, and lets the running ones end', async () => {
    const { lanes, log, job, end, queued } = open();
    lanes.add(job('one', null));
    lanes.add(job('two', null));
    lanes.dropWaiting();
    expect([log, queued(), lanes.isIdle]).toEqual([['one runs', 'two dropped'], 0, false]);
    await end('one');
    expect(log.at(-1)).toBe('idle');
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { failure, failureOf } from '../canonical/failure/failure.ts';
import { createAdmission, type AdmissionOptions, type AdmissionPlace } from './admission.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;

const admissionOf = (different: Partial<AdmissionOptions> = {}) => {
  const told: unknown[] = [];
  const admission = createAdmission({
    maxRunning: 2,
    isAdmin: () => true,
    maxQueued: 2,
    queueTimeoutMs: 30_000,
    backgroundTimeoutMs: 600_000,
    clock: { now: () => Date.now() },
    onChange: () => {},
    onWaited: (ms) => told.push(['waited', ms]),
    onRefused: (why) => told.push(['refused', why]),
    ...different,
  });
  const enter = (caller: string, turns = 1, signal = never): Promise<readonly AdmissionPlace[]> =>
    admission.enter({ caller, turns, param: 'n', signal, isBackground: caller === 'background' });
  /** Starts an admission and records its outcome without waiting for it. */
  const ask = (caller: string, turns = 1, signal = never): { outcome: unknown } => {
    const asked: { outcome: unknown } = { outcome: 'waits' };
    enter(caller, turns, signal).then(
      () => (asked.outcome = 'runs'),
      (error: unknown) => (asked.outcome = error instanceof DOMException ? error.name : failureOf(error)),
    );
    return asked;
  };
  return { enter, ask, told };
};

const settle = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe('createAdmission', () => {
  it('leaves the last slot to an administrator, whatever one key runs and queues', async () => {
    const isAdmin = (caller: string): boolean => caller === 'admin';
    const { ask } = admissionOf({ maxRunning: 3, isAdmin });
    const asked = ['eve', 'eve', 'eve', 'eve', 'admin'].map((caller) => ask(caller));
    await settle();
    expect(asked.map(({ outcome }) => outcome)).toEqual(['runs', 'runs', 'waits', 'waits', 'runs']);
  });

  it('gives the next slot to the key with the least, not to the key with the longest queue', async () => {
    const { enter, ask } = admissionOf({ maxQueued: 9 });
    const [[first], [second]] = [await enter('eve'), await enter('eve')];
    const asked = ['eve', 'eve', 'bob', 'eve', 'bob'].map((caller) => ask(caller));
    first?.leave();
    second?.leave();
    await settle();
    expect(asked.map(({ outcome }) => outcome)).toEqual(['runs', 'waits', 'runs', 'waits', 'waits']);
  });

  it('runs up to the limit, queues some, and rejects the rest with retry-after', async () => {
    const { ask, told } = admissionOf();
    const asked = Array.from({ length: 5 }, () => ask('a'));
    await settle();
    expect(asked.map(({ outcome }) => outcome)).toEqual([
      'runs',
      'runs',
      'waits',
      'waits',
      failure('server_overloaded', { retryAfterSeconds: 1 }),
    ]);
    expect(told).toEqual([['refused', 'full']]);
  });

  it('rejects a key above its share with another message', async () => {
    const { ask, told } = admissionOf();
    const asked = ['a', 'b', 'a', 'a', 'a'].map((caller) => ask(caller));
    await settle();
    expect(asked.at(-1)?.outcome).toEqual(failure('concurrency_limit', { retryAfterSeconds: 1 }));
    const other = ask('b');
    await settle();
    // The newest waiting request of the other key is dropped.
    expect([other.outcome, asked[3]?.outcome]).toEqual([
      'waits',
      failure('concurrency_limit', { retryAfterSeconds: 1 }),
    ]);
    expect(told).toEqual([
      ['refused', 'share'],
      ['refused', 'share'],
    ]);
  });

  it('rejects after the wait, with retry-after from recent waits', async () => {
    const { enter, ask, told } = admissionOf();
    const [first] = await enter('a', 2);
    const asked = ask('b', 2);
    await vi.advanceTimersByTimeAsync(10_000);
    first?.leave();
    await vi.advanceTimersByTimeAsync(20_000);
    expect([asked.outcome, told]).toEqual([
      failure('server_overloaded', { retryAfterSeconds: 1 }),
      [['refused', 'late']],
    ]);
  });

  it('a disconnected client leaves the queue', async () => {
    const { enter, ask } = admissionOf({ maxQueued: 1 });
    const [place] = await enter('a', 2);
    const client = new AbortController();
    const gone = ask('a', 1, client.signal);
    client.abort();
    const next = ask('a');
    await settle();
    expect([gone.outcome, next.outcome]).toEqual(['AbortError', 'waits']);
    place?.leave();
    await settle();
    expect(next.outcome).toBe('runs');
  });

  it('several choices run together or not at all, and each frees its slot once', async () => {
    const { enter, ask, told } = admissionOf({ maxRunning: 3, maxQueued: 5 });
    const places = await enter('a', 2);
    const large = ask('b', 3);
    const small = ask('c');
    await vi.advanceTimersByTimeAsync(250);
    expect([large.outcome, small.outcome]).toEqual(['waits', 'waits']);
    places[0]?.leave();
    places[0]?.leave();
    await settle();
    expect(large.outcome).toBe('waits');
    places[1]?.leave();
    await settle();
    expect([large.outcome, small.outcome, told]).toEqual(['runs', 'waits', [['waited', 250]]]);
  });

  it('background turns leave a slot to clients, and wait longer than those', async () => {
    const { ask } = admissionOf({ maxRunning: 4 });
    const background = Array.from({ length: 5 }, () => ask('background'));
    const client = ask('a');
    const next = ask('a');
    await vi.advanceTimersByTimeAsync(30_000);
    const late = failure('server_overloaded', { retryAfterSeconds: 1 });
    expect([background, client, next].flat().map(({ outcome }) => outcome)).toEqual([
      'runs',
      'runs',
      'runs',
      'waits',
      'waits',
      'runs',
      late,
    ]);
    await vi.advanceTimersByTimeAsync(570_000);
    expect(background[4]?.outcome).toEqual(late);
  });

  it.each([
    [4, ['runs', 'runs', 'waits', 'waits', 'runs']],
    [3, ['runs', 'waits', 'waits', 'waits', 'runs']],
  ])(
    'of %i slots, background turns leave one to clients without the scope admin',
    async (maxRunning, outcomes) => {
      const { ask } = admissionOf({ maxRunning, isAdmin: () => false });
      const asked = [...Array.from({ length: 4 }, () => ask('background')), ask('a')];
      await settle();
      expect(asked.map(({ outcome }) => outcome)).toEqual(outcomes);
    },
  );

  it('rejects more choices than there are slots as invalid', async () => {
    const { ask } = admissionOf();
    const asked = ask('a', 3);
    await settle();
    expect(asked.outcome).toEqual(
      failure('invalid_value', {
        param: 'n',
        message: "Invalid value: 'n' asks for 3 turns, but this server runs at most 2 at once.",
      }),
    );
  });
});

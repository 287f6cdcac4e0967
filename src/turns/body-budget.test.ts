import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { failure, failureOf } from '../canonical/failure/failure.ts';
import { createBodyBudget, type HeldBytes } from './body-budget.ts';

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

const never = new AbortController().signal;
const full = (retryAfterSeconds = 1) =>
  failure('server_overloaded', {
    message: 'The requests in progress are too large in total. Please try again later.',
    retryAfterSeconds,
  });
const gaveWay = failure('server_overloaded', {
  message:
    'The requests in progress are too large in total, and this one was rejected in favour of others. Please try again later.',
  retryAfterSeconds: 1,
});

const budgetOf = (maxBytes: number) => {
  const told = { bytes: 0, refused: 0 };
  const yielded: [name: string, failure: unknown][] = [];
  const budget = createBodyBudget({
    maxBytes,
    waitMs: 30_000,
    clock: { now: () => Date.now() },
    onChange: (bytes) => (told.bytes = bytes),
    onRefused: () => (told.refused += 1),
  });
  /** "a1" belongs to the key "a". */
  const open = (name: string, signal = never): HeldBytes =>
    budget.open(name.slice(0, 1), signal, (error) => yielded.push([name, error.failure]));
  /** A request whose body is announced and has partly arrived. */
  const begin = async (name: string, announced: number, arrived: number): Promise<HeldBytes> => {
    const held = open(name);
    await held.start(announced);
    held.grow(arrived);
    return held;
  };
  return { open, begin, told, yielded, names: () => yielded.map(([name]) => name) };
};

const growthOf = (held: HeldBytes, bytes: number): unknown => {
  try {
    held.grow(bytes);
    return 'grown';
  } catch (error) {
    return failureOf(error);
  }
};

describe('createBodyBudget', () => {
  it('keeps the bytes of an answer in any case; the key with the most gives way to others', async () => {
    const { begin, open, told, names } = budgetOf(100);
    for (const name of ['a1', 'a2', 'a3']) open(name).keep(40);
    expect([told.bytes, names()]).toEqual([120, []]);
    expect(growthOf(open('a4'), 1)).toEqual(full());
    await begin('b1', 30, 30);
    expect(names()).toEqual(['a3', 'a2']);
    expect(told.bytes).toBe(70);
  });

  it('holds received bytes until they are released once', async () => {
    const { begin, told } = budgetOf(100);
    const held = await begin('a1', 60, 20);
    held.grow(70);
    expect([told, held.bytes]).toEqual([{ bytes: 90, refused: 0 }, 90]);
    held.letGo();
    held.letGo();
    held.grow(5);
    expect([told, held.bytes]).toEqual([{ bytes: 0, refused: 0 }, 0]);
  });

  it('a body waits for the announced bytes of its own key', async () => {
    const { begin, open, told } = budgetOf(100);
    const first = await begin('a1', 60, 1);
    const second = open('a2').start(60);
    await vi.advanceTimersByTimeAsync(20_000);
    first.letGo();
    await second;
    expect(told).toEqual({ bytes: 0, refused: 0 });
  });

  it('limits the wait, and ends it when the request ends', async () => {
    const { begin, open, told } = budgetOf(100);
    const first = await begin('a1', 60, 1);
    const client = new AbortController();
    const late = open('a2').start(60).catch(failureOf);
    const gone = open('a3', client.signal)
      .start(60)
      .catch((error: unknown) => error);
    client.abort('gone');
    await vi.advanceTimersByTimeAsync(30_000);
    first.letGo();
    expect([await late, await gone, told, vi.getTimerCount()]).toEqual([
      full(),
      'gone',
      { bytes: 0, refused: 1 },
      0,
    ]);
  });

  it('another key starts at once, whatever the first has announced', async () => {
    const { begin, told, names } = budgetOf(100);
    for (const name of ['a1', 'a2']) await begin(name, 50, 1);
    await begin('b1', 90, 90);
    await begin('c1', 30, 1);
    expect([told, names()]).toEqual([{ bytes: 93, refused: 0 }, []]);
  });

  it('a key gets its share whatever others have announced, and waits for more', async () => {
    const { begin, open } = budgetOf(100);
    const first = await begin('a1', 100, 1);
    await begin('b1', 30, 1);
    await begin('b2', 20, 1);
    let hasBegun = false;
    const third = open('b3')
      .start(10)
      .then(() => (hasBegun = true));
    await vi.advanceTimersByTimeAsync(0);
    const hadBegun = hasBegun;
    first.letGo();
    await third;
    expect([hadBegun, hasBegun]).toEqual([false, true]);
  });

  it('drops the newest body of the key furthest above its share when memory is short', async () => {
    const { begin, told, yielded } = budgetOf(100);
    const first = await begin('a1', 40, 40);
    const second = await begin('a2', 40, 40);
    const other = await begin('b1', 30, 20);
    expect([growthOf(other, 10), yielded, told]).toEqual([
      'grown',
      [['a2', gaveWay]],
      { bytes: 70, refused: 1 },
    ]);
    // The dropped body is not read any further.
    expect([growthOf(second, 1), growthOf(first, 0)]).toEqual([gaveWay, 'grown']);
  });

  it('does not drop a body for a key above its share, nor once its turn runs', async () => {
    const { begin, names } = budgetOf(100);
    const fixed = await begin('a1', 60, 60);
    fixed.settle();
    const other = await begin('b1', 40, 40);
    expect([growthOf(other, 1), names()]).toEqual([full(), []]);
    other.letGo();
    const more = await begin('a2', 40, 30);
    await begin('b2', 10, 10);
    expect([growthOf(more, 1), names()]).toEqual([full(), []]);
  });

  it('half-read bodies do not deadlock: the newest of one key is dropped', async () => {
    const { open, told, names } = budgetOf(100);
    const bodies = ['a1', 'a2', 'a3', 'a4'].map((name) => open(name));
    // Chunked: their length is unknown.
    await Promise.all(bodies.map((body) => body.start(0)));
    for (const body of bodies) body.grow(25);
    expect(bodies.slice(0, 2).map((body) => growthOf(body, 10))).toEqual(['grown', 'grown']);
    expect([names(), told]).toEqual([['a4'], { bytes: 95, refused: 1 }]);
  });

  it('waits for running turns that leave no room', async () => {
    const { begin, open, told } = budgetOf(100);
    const fixed = await begin('a1', 90, 90);
    fixed.settle();
    const waiting = open('b1').start(20);
    await vi.advanceTimersByTimeAsync(12_345);
    fixed.letGo();
    await waiting;
    expect(told).toEqual({ bytes: 0, refused: 0 });
  });

  it('a queue that is too long drops the newest body of the key that awaits the most', async () => {
    const { begin, open } = budgetOf(10);
    const running = [await begin('c1', 10, 10), await begin('a0', 0, 0)];
    running[0]?.settle();
    const refused: string[] = [];
    const waits = ['a1', 'a2', 'a3', 'b1', 'a4'].map((name) =>
      open(name)
        .start(10)
        .catch(() => refused.push(name)),
    );
    await vi.advanceTimersByTimeAsync(0);
    expect(refused).toEqual(['a4']);
    await vi.advanceTimersByTimeAsync(30_000);
    await Promise.all(waits);
  });

  it('accepts a body larger than the budget when it is alone', async () => {
    const { begin, told } = budgetOf(100);
    await begin('a1', 500, 500);
    expect(told).toEqual({ bytes: 100, refused: 0 });
  });

  it('law: stays within the limit, releases everything, and never drops a body of a key below its share', async () => {
    const step = fc.record({
      at: fc.nat(5),
      key: fc.constantFrom('a', 'b', 'c'),
      kind: fc.constantFrom('grow', 'grow', 'grow', 'settle', 'letGo'),
      bytes: fc.nat(40),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const heldBy = (key: string): number =>
          [...bodies].filter(([name]) => name.startsWith(key)).reduce((sum, [, one]) => sum + one.bytes, 0);
        const { open, told, names } = budgetOf(100);
        const bodies = new Map<string, HeldBytes>();
        for (const { at, key, kind, bytes } of steps) {
          const name = `${key}${at}`;
          const body = bodies.get(name) ?? open(name);
          bodies.set(name, body);
          if (kind === 'settle') body.settle();
          else if (kind === 'letGo') {
            body.letGo();
            bodies.delete(name);
          } else {
            const before = new Map(['a', 'b', 'c'].map((one) => [one, heldBy(one)]));
            const gone = names().length;
            growthOf(body, bytes);
            for (const victim of names().slice(gone)) {
              expect(before.get(victim.slice(0, 1))).toBeGreaterThanOrEqual(100 / 3 - bytes);
              bodies.delete(victim);
            }
          }
          expect(told.bytes).toBeLessThanOrEqual(100);
          expect(told.bytes).toBe(['a', 'b', 'c'].reduce((sum, one) => sum + heldBy(one), 0));
        }
        for (const body of bodies.values()) body.letGo();
        expect(told.bytes).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});

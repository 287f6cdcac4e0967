import { describe, expect, it } from 'vitest';

import { gatewayError, failure, GatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import { collect } from '../../test/support/turn-events.ts';
import { planOf } from '../../test/support/plan.ts';
import type { AdmissionPlace } from './admission.ts';
import { runChoices } from './choices.ts';

const started: TurnEvent = {
  type: 'item-started',
  item: { kind: 'message', id: 'm', role: 'assistant', parts: [] },
};
const completed: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'completed' },
  usage: null,
  at: 1_800_000_000_000,
};
const failed: TurnEvent = {
  type: 'turn-ended',
  outcome: { kind: 'failed', failure: failure('upstream_error') },
  usage: null,
  at: 1_800_000_000_000,
};

/** The first turn is the one passed in; the others emit text and then wait until they are interrupted. */
const planWith = (first: () => AsyncIterable<TurnEvent>) => {
  const ended: number[] = [];
  let count = 0;
  const plan = planOf(async function* (signal) {
    const index = count;
    count += 1;
    try {
      if (index === 0) return yield* first();
      yield started;
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      // The error of an interrupted turn must not hide the reason of the interruption.
      throw new Error('interrupted');
    } finally {
      ended.push(index);
    }
  });
  return { plan, ended: () => ended.toSorted((a, b) => a - b) };
};

const never = new AbortController().signal;

const placesOf = (count: number, left: number[] = []): OneOrMore<AdmissionPlace> => {
  const place = (index: number): AdmissionPlace => ({ leave: () => void left.push(index) });
  return [place(0), ...Array.from({ length: count - 1 }, (_, index) => place(index + 1))];
};

describe('runChoices', () => {
  it('passes a single turn through unchanged', () => {
    const events: AsyncIterable<TurnEvent> = { [Symbol.asyncIterator]: () => [][Symbol.iterator]() as never };
    const signals: AbortSignal[] = [];
    const plan = planOf((signal) => {
      signals.push(signal);
      return events;
    });
    expect(runChoices([plan], placesOf(1), { signal: never, pace: 'at-once' })).toEqual([events]);
    expect(signals).toEqual([never]);
  });

  it('runs the requested number of turns', async () => {
    const plan = planOf(async function* () {
      yield completed;
    });
    const turns = runChoices([plan], placesOf(3), { signal: never, pace: 'at-once' });
    expect(await Promise.all(turns.map(collect))).toEqual([[completed], [completed], [completed]]);
  });

  it('interrupts all when one fails, for its reason', async () => {
    const { plan, ended } = planWith(async function* () {
      yield failed;
    });
    const turns = runChoices([plan], placesOf(3), { signal: never, pace: 'at-once' });
    const results = await Promise.allSettled(turns.map(collect));
    const reason = new GatewayError(failure('upstream_error'));
    expect(results).toEqual([
      { status: 'fulfilled', value: [failed] },
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    expect(ended()).toEqual([0, 1, 2]);
  });

  it('interrupts all when one cannot be started', async () => {
    const { plan, ended } = planWith(() => {
      throw gatewayError('worker_unavailable');
    });
    const results = await Promise.allSettled(
      runChoices([plan], placesOf(2), { signal: never, pace: 'at-once' }).map(collect),
    );
    const reason = gatewayError('worker_unavailable');
    expect(results).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    expect(ended()).toEqual([0, 1]);
  });

  it('hides the message of an unknown error', async () => {
    const { plan } = planWith(() => {
      throw new Error('/home/secret');
    });
    const [first, second] = await Promise.allSettled(
      runChoices([plan], placesOf(2), { signal: never, pace: 'at-once' }).map(collect),
    );
    expect(first).toEqual({ status: 'rejected', reason: new Error('/home/secret') });
    expect(second).toEqual({ status: 'rejected', reason: gatewayError('server_error') });
  });

  it('interrupts all when the reader stops reading one', async () => {
    const { plan, ended } = planWith(async function* () {
      yield started;
      yield completed;
    });
    const [first, second] = mapAll(
      runChoices([plan], placesOf(2), { signal: never, pace: 'at-once' }),
      (turn) => turn[Symbol.asyncIterator](),
    );
    await first.next();
    const waiting = second?.next().then(() => second.next());
    await first.return?.();
    await expect(waiting).rejects.toThrow('aborted');
    expect(ended()).toEqual([0, 1]);
  });

  it('interrupts all when the client disconnects', async () => {
    const client = new AbortController();
    const { plan, ended } = planWith(async function* () {
      yield started;
      client.abort();
      client.signal.throwIfAborted();
    });
    const results = await Promise.allSettled(
      runChoices([plan], placesOf(3), { signal: client.signal, pace: 'at-once' }).map(collect),
    );
    expect(results.map((one) => one.status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(ended()).toEqual([0, 1, 2]);
  });

  it('frees the slot of each turn when the engine reports its end', async () => {
    const left: number[] = [];
    const plan = planOf(async function* (_signal, onSettled) {
      yield started;
      onSettled?.();
    });
    const turns = runChoices([plan], placesOf(3, left), { signal: never, pace: 'at-once' });
    const [first, second] = turns;
    await collect(second ?? first);
    expect(left).toEqual([1]);
    await collect(first);
    expect(left).toEqual([1, 0]);
  });

  it('one by one: a turn starts when the previous one has started or failed', async () => {
    const log: string[] = [];
    const accepted = Promise.withResolvers<void>();
    const ends = Promise.withResolvers<void>();
    let count = 0;
    const plan = planOf(async function* () {
      const index = count;
      count += 1;
      log.push(`${index} starts`);
      await accepted.promise;
      log.push(`${index} begins`);
      yield started;
      await ends.promise;
      yield completed;
    });
    const turns = runChoices([plan], placesOf(3), { signal: never, pace: 'one-by-one' });
    const reading = Promise.all(turns.map(collect));
    await Promise.resolve();
    expect(log).toEqual(['0 starts']);
    accepted.resolve();
    await expect.poll(() => log).toHaveLength(6);
    expect(log).toEqual(['0 starts', '0 begins', '1 starts', '1 begins', '2 starts', '2 begins']);
    ends.resolve();
    expect(await reading).toEqual(Array.from({ length: 3 }, () => [started, completed]));
    // eslint-disable-next-line require-yield
    const broken = planOf(async function* () {
      throw gatewayError('upstream_error');
    });
    const failing = runChoices([broken], placesOf(3), { signal: never, pace: 'one-by-one' });
    const results = await Promise.allSettled(failing.map(collect));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('runs each of several plans equally often, in order', async () => {
    const plans = mapAll(['a', 'b', 'c'], (id) =>
      planOf(async function* () {
        yield { ...started, item: { ...started.item, id } };
        yield completed;
      }),
    );
    const turns = runChoices(plans, placesOf(6), { signal: never, pace: 'at-once' });
    const told = await Promise.all(turns.map(collect));
    const ids = told.map(([event]) => event?.type === 'item-started' && event.item.id);
    expect(ids).toEqual(['a', 'a', 'b', 'b', 'c', 'c']);
  });
});

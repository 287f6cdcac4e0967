import { describe, expect, it, vi } from 'vitest';

import { collect, emit, fixedAmbient } from '../../test/support/turn-events.ts';
import { END, messageEnded, messageStarted, textDelta } from '../../test/support/item-events.ts';
import { planOf } from '../../test/support/plan.ts';
import { gatewayError, failure, GatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { DetectedClient } from '../apis/clients/detect-client.ts';
import { runChoices } from './choices.ts';
import { allPastCommitPoint, inWordsOfCodex, type CommittedTurn } from './commit-point.ts';

describe('commit point', () => {
  const ACCEPTED: TurnEvent = {
    type: 'turn-accepted',
    ignored: ['sampling.seed'],
    limitsOutput: false,
    headers: { a: 'b' },
  };
  const STARTED = messageStarted('m');
  const DELTA = textDelta('m', 'hi');
  const FAILED: TurnEvent = {
    ...END,
    outcome: { kind: 'failed', failure: failure('rate_limit_exceeded') },
  };
  const noBug = (error: unknown): void => {
    throw error;
  };

  /** Emits these events, then runs `then`; records whether it was returned early. */
  const source = (events: readonly TurnEvent[], then: () => Promise<void> | void = () => {}) => {
    const state = { left: false };
    async function* generate(): AsyncGenerator<TurnEvent> {
      try {
        yield* events;
        await then();
      } finally {
        state.left = true;
      }
    }
    return { events: generate(), state };
  };
  const failureOf = (error: unknown): unknown => (error instanceof GatewayError ? error.failure : error);

  const SAID = messageEnded('m', '');
  const { clock } = fixedAmbient();
  const OPTIONS = { idleMs: null, clock, onBug: noBug, stop() {} };

  /** For an answer of one turn. */
  const pastCommitPoint = async (
    events: AsyncIterable<TurnEvent>,
    idleMs: number | null,
    onBug: (error: unknown) => void,
  ): Promise<CommittedTurn> => (await allPastCommitPoint([events], { ...OPTIONS, idleMs, onBug }))[0];

  describe('one turn', () => {
    it('waits for the first event and passes all of them on', async () => {
      const committed = await pastCommitPoint(emit([ACCEPTED, STARTED, SAID, END]), null, noBug);
      expect(committed.accepted).toEqual(ACCEPTED);
      expect(await collect(committed.events)).toEqual([ACCEPTED, STARTED, SAID, END]);
    });

    it('throws the error of a turn that fails before its first event, and ends it', async () => {
      const { events, state } = source([FAILED]);
      const error: unknown = await pastCommitPoint(events, null, noBug).catch((one: unknown) => one);
      expect([failureOf(error), state.left]).toEqual([failure('rate_limit_exceeded'), true]);
    });

    it('throws a synchronous error of the engine', async () => {
      const { events } = source([], () => {
        throw gatewayError('worker_unavailable');
      });
      const error: unknown = await pastCommitPoint(events, null, noBug).catch((one: unknown) => one);
      expect(failureOf(error)).toEqual(failure('worker_unavailable'));
    });

    it('a failure after the first event ends the turn', async () => {
      const committed = await pastCommitPoint(emit([ACCEPTED, FAILED]), null, noBug);
      expect(await collect(committed.events)).toEqual([ACCEPTED, FAILED]);
    });

    it('an error after the first event ends the turn and closes open items', async () => {
      const { events } = source([ACCEPTED, STARTED, DELTA], () => {
        throw gatewayError('worker_lost');
      });
      const committed = await pastCommitPoint(events, null, noBug);
      expect((await collect(committed.events)).slice(3)).toEqual([
        messageEnded('m', 'hi', { status: 'incomplete' }),
        { ...END, outcome: { kind: 'failed', failure: failure('worker_lost') } },
      ]);
    });

    it('reports an unexpected error, and hides it from the client', async () => {
      const bug = new TypeError('secret path /root');
      const onBug = vi.fn<(error: unknown) => void>();
      const { events } = source([ACCEPTED], () => {
        throw bug;
      });
      const committed = await pastCommitPoint(events, null, onBug);
      expect((await collect(committed.events)).at(-1)).toEqual({
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: failure('server_error') },
        usage: null,
        at: 1_800_000_000_000,
      });
      expect(onBug.mock.calls).toEqual([[bug]]);
    });

    it('commits an idle turn: later events are in the stream', async () => {
      const limiter = Promise.withResolvers<void>();
      async function* silent(): AsyncGenerator<TurnEvent> {
        await limiter.promise;
        yield FAILED;
      }
      const committed = await pastCommitPoint(silent(), 1, noBug);
      expect(committed.accepted).toBeNull();
      limiter.resolve();
      expect(await collect(committed.events)).toEqual([FAILED]);
    });

    it('an idle turn that throws after the commit point fails in the stream', async () => {
      const limiter = Promise.withResolvers<void>();
      // eslint-disable-next-line require-yield
      async function* silent(): AsyncGenerator<TurnEvent> {
        await limiter.promise;
        throw gatewayError('worker_lost');
      }
      const committed = await pastCommitPoint(silent(), 1, noBug);
      limiter.resolve();
      expect(await collect(committed.events)).toEqual([
        {
          type: 'turn-ended',
          outcome: { kind: 'failed', failure: failure('worker_lost') },
          usage: null,
          at: 1_800_000_000_000,
        },
      ]);
    });

    it('ends the turn when the reader stops', async () => {
      const { events, state } = source([ACCEPTED, STARTED, DELTA, END]);
      const committed = await pastCommitPoint(events, null, noBug);
      for await (const event of committed.events) if (event.type === 'item-started') break;
      expect(state.left).toBe(true);
    });

    it('can be ended without being read', async () => {
      const { events, state } = source([ACCEPTED, END]);
      const committed = await pastCommitPoint(events, null, noBug);
      await committed.giveUp();
      expect(state.left).toBe(true);
    });
  });

  it('an idle turn can be ended without waiting for its next event', async () => {
    const stop = new AbortController();
    // eslint-disable-next-line require-yield
    const plan = planOf(async function* (signal) {
      await new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(gatewayError('server_error')));
      });
    });
    const turns = runChoices([plan], [{ leave() {} }], { signal: stop.signal, pace: 'at-once' });
    const options = { ...OPTIONS, idleMs: 1, stop: () => stop.abort() };
    const [silent] = await allPastCommitPoint(turns, options);
    await silent.giveUp();
    expect([silent.accepted, stop.signal.aborted]).toEqual([null, true]);
  });

  describe('several turns', () => {
    it('can be ended while one is idle, without waiting for its first event', async () => {
      const given: AbortSignal[] = [];
      const plan = planOf(async function* (signal) {
        given.push(signal);
        if (given.length === 1) yield ACCEPTED;
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(gatewayError('server_error')));
        });
      });
      const places = [{ leave() {} }, { leave() {} }] as const;
      const { signal } = new AbortController();
      const turns = runChoices([plan], places, { signal, pace: 'at-once' });
      const committed = await allPastCommitPoint(turns, { ...OPTIONS, idleMs: 1 });
      expect(committed.map((one) => one.accepted)).toEqual([ACCEPTED, null]);
      await Promise.all(committed.map((one) => one.giveUp()));
      expect(given.map((one) => one.aborted)).toEqual([true, true]);
    });

    it('commits all', async () => {
      const all = await allPastCommitPoint([emit([ACCEPTED, END]), emit([STARTED, END])], OPTIONS);
      expect(all.map((one) => one.accepted)).toEqual([ACCEPTED, null]);
    });

    it('commits none when one fails, and ends the others', async () => {
      const good = source([ACCEPTED, END]);
      const bad = source([FAILED]);
      const error: unknown = await allPastCommitPoint([good.events, bad.events], OPTIONS).catch(
        (one: unknown) => one,
      );
      expect([failureOf(error), good.state.left, bad.state.left]).toEqual([
        failure('rate_limit_exceeded'),
        true,
        true,
      ]);
    });
  });
});

describe('inWordsOfCodex', () => {
  const clock = { now: () => 1_800_000_000_000 };
  const client = (name: DetectedClient['name']): DetectedClient => ({ name, source: 'header', reasons: [] });
  const record = (error: unknown, name: DetectedClient['name'] = 'codex', stream = true): unknown => {
    try {
      return inWordsOfCodex({ client: client(name), stream }, clock)(error);
    } catch (thrown) {
      return thrown;
    }
  };
  const USED_UP = gatewayError('insufficient_quota', { message: 'Used up.', retryAfterSeconds: 60 });
  const TOO_LONG = gatewayError('context_length_exceeded');

  it('includes the time when a limit resets', () => {
    const told = record(USED_UP) as GatewayError;
    expect(told.failure).toEqual({
      ...USED_UP.failure,
      type: 'usage_limit_reached',
      more: { resets_at: 1_800_000_060 },
    });
    expect((record(gatewayError('insufficient_quota')) as GatewayError).failure).not.toHaveProperty('more');
  });

  it('reports a conversation that is too long in the stream', async () => {
    const [told] = record(TOO_LONG) as readonly [{ readonly events: AsyncIterable<unknown> }];
    expect(await collect(told.events as never)).toEqual([
      {
        type: 'turn-ended',
        outcome: { kind: 'failed', failure: TOO_LONG.failure },
        usage: null,
        at: 1_800_000_000_000,
      },
    ]);
  });

  it('leaves other failures unchanged', () => {
    const other = gatewayError('upstream_error');
    expect(record(other)).toBe(other);
    expect(record(USED_UP, 'other')).toBe(USED_UP);
    expect(record(TOO_LONG, 'other')).toBe(TOO_LONG);
    expect(record(TOO_LONG, 'codex', false)).toBe(TOO_LONG);
  });
});

import { failureOf, GatewayError, type Failure } from '../canonical/failure/failure.ts';
import type { TurnAccepted, TurnEvent } from '../canonical/events/turn-event.ts';
import { wellFormed } from '../canonical/events/well-formed.ts';
import type { Clock } from '../kit/ambient.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import { within } from '../kit/async/wait.ts';
import type { ParsedRequest } from './api.ts';

type NextEvent = IteratorResult<TurnEvent>;

export interface CommittedTurn {
  readonly events: AsyncIterable<TurnEvent>;
  /** What the backend accepted; null if it has not answered yet. */
  readonly accepted: TurnAccepted | null;
  /** Ends the turn instead of reading its events. */
  giveUp(): Promise<void>;
}

export interface CommitOptions {
  /** Null: no limit, the answer is sent as a whole. */
  readonly idleMs: number | null;
  readonly clock: Clock;
  readonly onBug: (error: unknown) => void;
  /** Aborts all turns: returning an idle one would wait for its next event. */
  readonly stop: () => void;
}

/**
 * Waits for the turn's first event, because after the HTTP status an error can only be a frame. An error before the
 * first event is thrown, and becomes a status. A turn that is idle for `idleMs` is committed anyway: the client must see
 * that the proxy is alive.
 */
const pastCommitPoint = async (
  events: AsyncIterable<TurnEvent>,
  { idleMs, clock, onBug, stop }: CommitOptions,
): Promise<CommittedTurn> => {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const step = idleMs === null ? await first : await within(first, idleMs);
  const event = step === null || step.done === true ? null : step.value;
  const giveUp = async (): Promise<void> => {
    stop();
    // The error of an aborted turn is irrelevant.
    await first.catch(() => {});
    await iterator.return?.();
  };
  if (event?.type === 'turn-ended' && event.outcome.kind === 'failed') {
    await giveUp();
    throw new GatewayError(event.outcome.failure);
  }
  const accepted = event?.type === 'turn-accepted' ? event : null;
  // From here on nothing throws: an error becomes the end of the turn.
  const committed = wellFormed(resumed(first, iterator), {
    clock,
    onThrow(error) {
      if (!(error instanceof GatewayError)) onBug(error);
      return { kind: 'failed', failure: failureOf(error) };
    },
  });
  return { events: committed, accepted, giveUp };
};

/** Commits all turns of an answer, or none. */
export const allPastCommitPoint = async (
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  options: CommitOptions,
): Promise<OneOrMore<CommittedTurn>> => {
  const results = mapAll(turns, (events) => pastCommitPoint(events, options));
  try {
    return await Promise.all(results);
  } catch (error) {
    const settled = await Promise.allSettled(results);
    await Promise.all(settled.map(async (one) => one.status === 'fulfilled' && one.value.giveUp()));
    throw error;
  }
};

/** The event pulled already, then the rest. Not a generator, which would cost something for each event. */
const resumed = (first: Promise<NextEvent>, iterator: AsyncIterator<TurnEvent>): AsyncIterable<TurnEvent> => {
  let pulled: Promise<NextEvent> | null = first;
  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        const step = pulled ?? iterator.next();
        pulled = null;
        return step;
      },
      async return() {
        await iterator.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
};

/**
 * Rewrites two failures to the form that the codex client recognises, which differs from the public API: it then tells
 * its user what to do, or compacts the conversation.
 */
export const inWordsOfCodex =
  ({ client, stream }: Pick<ParsedRequest, 'client' | 'stream'>, clock: Clock) =>
  (error: unknown): OneOrMore<CommittedTurn> => {
    const failed = failureOf(error);
    if (client.name === 'codex' && failed.kind === 'insufficient_quota') {
      throw new GatewayError(asUsageLimit(failed, clock.now()), { cause: error });
    }
    if (client.name === 'codex' && stream && failed.kind === 'context_length_exceeded') {
      return [onlyFailed(failed, clock.now())];
    }
    throw error;
  };

/** In the form of the ChatGPT backend. */
const asUsageLimit = (failed: Failure, nowMs: number): Failure => ({
  ...failed,
  type: 'usage_limit_reached',
  ...(failed.retryAfterSeconds === null
    ? {}
    : { more: { resets_at: Math.floor(nowMs / 1000) + failed.retryAfterSeconds } }),
});

async function* failedAt(failed: Failure, at: number): AsyncGenerator<TurnEvent> {
  yield { type: 'turn-ended', outcome: { kind: 'failed', failure: failed }, usage: null, at };
}

/** Codex does not recognise this failure in an HTTP status. */
const onlyFailed = (failed: Failure, at: number): CommittedTurn => ({
  events: failedAt(failed, at),
  accepted: null,
  giveUp: async () => {},
});

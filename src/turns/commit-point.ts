import { failureOf, GatewayError } from '../canonical/failure/failure.ts';
import type { TurnAccepted, TurnEvent } from '../canonical/events/turn-event.ts';
import { wellFormed } from '../canonical/events/well-formed.ts';
import type { Clock } from '../kit/ambient.ts';
import { mapAll, type OneOrMore } from '../kit/collections/one-or-more.ts';
import { within } from '../kit/async/within.ts';

type NextEvent = IteratorResult<TurnEvent>;

export interface Committed {
  readonly events: AsyncIterable<TurnEvent>;
  /** What the backend made of the request; null when it has not said anything yet. */
  readonly accepted: TurnAccepted | null;
  /** Ends the turn instead of reading its events. */
  giveUp(): Promise<void>;
}

export interface CommitOptions {
  /** Null: there is no hurry, the answer comes whole. */
  readonly patienceMs: number | null;
  readonly clock: Clock;
  readonly onBug: (error: unknown) => void;
  /** Aborts all turns: leaving a silent one would wait for its next event. */
  readonly stop: () => void;
}

/**
 * Waits for the turn's first event, because after the HTTP status is sent an error can only be a
 * frame. A turn that fails before its first event is thrown, and becomes a status. A turn that
 * is silent for `patienceMs` is committed anyway: the client must see that we are alive.
 */
const pastCommitPoint = async (
  events: AsyncIterable<TurnEvent>,
  { patienceMs, clock, onBug, stop }: CommitOptions,
): Promise<Committed> => {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const step = patienceMs === null ? await first : await within(first, patienceMs);
  const event = step === null || step.done === true ? null : step.value;
  const giveUp = async (): Promise<void> => {
    stop();
    // What an aborted turn throws is of no use any more.
    await first.catch(() => {});
    await iterator.return?.();
  };
  if (event?.type === 'turn-ended' && event.outcome.kind === 'failed') {
    await giveUp();
    throw new GatewayError(event.outcome.failure);
  }
  const accepted = event?.type === 'turn-accepted' ? event : null;
  // From here on nothing may throw: what goes wrong is how the turn ended.
  const committed = wellFormed(resumed(first, iterator), {
    clock,
    onThrow(error) {
      if (!(error instanceof GatewayError)) onBug(error);
      return { kind: 'failed', failure: failureOf(error) };
    },
  });
  return { events: committed, accepted, giveUp };
};

/** All the turns of one answer. If one of them cannot be committed, none is. */
export const allPastCommitPoint = async (
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  options: CommitOptions,
): Promise<OneOrMore<Committed>> => {
  const results = mapAll(turns, (events) => pastCommitPoint(events, options));
  try {
    return await Promise.all(results);
  } catch (error) {
    const settled = await Promise.allSettled(results);
    await Promise.all(settled.map(async (one) => one.status === 'fulfilled' && one.value.giveUp()));
    throw error;
  }
};

/** What was pulled already, and behind it the rest. */
async function* resumed(
  first: Promise<NextEvent>,
  iterator: AsyncIterator<TurnEvent>,
): AsyncGenerator<TurnEvent> {
  try {
    for (let step = await first; step.done !== true; step = await iterator.next()) yield step.value;
  } finally {
    await iterator.return?.();
  }
}

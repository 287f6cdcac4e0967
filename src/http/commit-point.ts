import { failureOf, GatewayError } from '../canonical/failure.ts';
import { OpenItems } from '../canonical/open-items.ts';
import type { TurnAccepted, TurnEvent } from '../canonical/turn-event.ts';
import { mapAll, type OneOrMore } from '../kit/one-or-more.ts';
import { within } from '../kit/within.ts';

type Step = IteratorResult<TurnEvent>;

export interface Committed {
  readonly events: AsyncIterable<TurnEvent>;
  /** What the backend made of the request; null when it has not said anything yet. */
  readonly accepted: TurnAccepted | null;
  /** Ends the turn instead of reading its events. */
  giveUp(): Promise<void>;
}

/**
 * Waits for the turn's first event, because after the HTTP status is sent an error can only be a
 * frame. A turn that fails before it says anything is thrown, and becomes a status. A turn that
 * says nothing for `patienceMs` is committed all the same: the client must hear that we are alive.
 * Null: there is no hurry, the answer comes whole.
 */
const pastCommitPoint = async (
  events: AsyncIterable<TurnEvent>,
  patienceMs: number | null,
  onBug: (error: unknown) => void,
): Promise<Committed> => {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const step = patienceMs === null ? await first : await within(first, patienceMs);
  const event = step === null || step.done === true ? null : step.value;
  const giveUp = async (): Promise<void> => {
    await iterator.return?.();
  };
  if (event?.type === 'turn-ended' && event.outcome.kind === 'failed') {
    await giveUp();
    throw new GatewayError(event.outcome.failure);
  }
  const accepted = event?.type === 'turn-accepted' ? event : null;
  return { events: committed(first, iterator, onBug), accepted, giveUp };
};

/** All the turns of one answer. If one of them cannot be committed, none is. */
export const allPastCommitPoint = async (
  turns: OneOrMore<AsyncIterable<TurnEvent>>,
  patienceMs: number | null,
  onBug: (error: unknown) => void,
): Promise<OneOrMore<Committed>> => {
  const results = mapAll(turns, (events) => pastCommitPoint(events, patienceMs, onBug));
  try {
    return await Promise.all(results);
  } catch (error) {
    const settled = await Promise.allSettled(results);
    await Promise.all(settled.map(async (one) => one.status === 'fulfilled' && one.value.giveUp()));
    throw error;
  }
};

/** From here on nothing may throw: what goes wrong is how the turn ended. */
async function* committed(
  first: Promise<Step>,
  iterator: AsyncIterator<TurnEvent>,
  onBug: (error: unknown) => void,
): AsyncGenerator<TurnEvent> {
  const open = new OpenItems();
  try {
    let step = await first;
    while (step.done !== true) {
      open.follow(step.value);
      yield step.value;
      step = await iterator.next();
    }
  } catch (error) {
    if (!(error instanceof GatewayError)) onBug(error);
    yield* open.endAll(false);
    yield { type: 'turn-ended', outcome: { kind: 'failed', failure: failureOf(error) }, usage: null };
  } finally {
    await iterator.return?.();
  }
}

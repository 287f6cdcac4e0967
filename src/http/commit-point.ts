import { failureOf, GatewayError } from '../canonical/failure.ts';
import { OpenItems } from '../canonical/open-items.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';

type Step = IteratorResult<TurnEvent>;

/**
 * Waits for the turn's first event, because after the HTTP status is sent an error can only be a
 * frame. A turn that fails before it says anything is thrown, and becomes a status. A turn that
 * says nothing for `patienceMs` is committed all the same: the client must hear that we are alive.
 */
export const pastCommitPoint = async (
  events: AsyncIterable<TurnEvent>,
  patienceMs: number,
): Promise<AsyncIterable<TurnEvent>> => {
  const iterator = events[Symbol.asyncIterator]();
  const first = iterator.next();
  const step = await within(first, patienceMs);
  if (step !== null && step.done !== true) {
    const event = step.value;
    if (event.type === 'turn-ended' && event.outcome.kind === 'failed') {
      await iterator.return?.();
      throw new GatewayError(event.outcome.failure);
    }
  }
  return committed(first, iterator);
};

/** Null when the time is up first. */
const within = async (step: Promise<Step>, patienceMs: number): Promise<Step | null> => {
  let timer: NodeJS.Timeout | undefined;
  const timeUp = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, patienceMs, null);
  });
  try {
    return await Promise.race([step, timeUp]);
  } finally {
    clearTimeout(timer);
  }
};

/** From here on nothing may throw: what goes wrong is how the turn ended. */
async function* committed(
  first: Promise<Step>,
  iterator: AsyncIterator<TurnEvent>,
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
    yield* open.endAll(false);
    yield { type: 'turn-ended', outcome: { kind: 'failed', failure: failureOf(error) }, usage: null };
  } finally {
    await iterator.return?.();
  }
}

import { failureOf, GatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { mapAll, type OneOrMore } from '../kit/collections/one-or-more.ts';
import type { AdmissionPlace } from './admission.ts';
import type { Plan } from '../engine/engine.ts';

export interface ChoicesOptions {
  readonly signal: AbortSignal;
  /**
   * `one-by-one`: a turn starts when the one before it has been accepted. For a large request, which is
   * copied several times on its way: the copies of one choice are gone before those of the next are made.
   */
  readonly pace: 'at-once' | 'one-by-one';
}

/**
 * Several answers to a request are turns of their own, side by side, each in a place of its own. Every plan has as
 * many places; the answers to the first plan come first. All of them stand and fall together: when one fails, or its
 * reader leaves it, the others are interrupted and fail for the same reason.
 */
export const runChoices = (
  plans: OneOrMore<Plan>,
  places: OneOrMore<AdmissionPlace>,
  { signal, pace }: ChoicesOptions,
): OneOrMore<AsyncIterable<TurnEvent>> => {
  const [only] = places;
  if (places.length === 1) return [plans[0].run(signal, () => only.leave())];
  const perPlan = places.length / plans.length;
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  let ahead: Promise<void> = Promise.resolve();
  return mapAll(places, (place, index) => {
    const plan = plans[Math.floor(index / perPlan)] ?? plans[0];
    const events = bound(
      plan.run(either, () => place.leave()),
      stop,
    );
    if (pace === 'at-once') return events;
    const begun = Promise.withResolvers<void>();
    const queued = inLine(events, ahead, begun.resolve);
    ahead = begun.promise;
    return queued;
  });
};

/** A turn that waits for the one ahead of it, and tells the next one when it has begun, or will not. */
async function* inLine(
  events: AsyncIterable<TurnEvent>,
  ahead: Promise<void>,
  onBegun: () => void,
): AsyncGenerator<TurnEvent> {
  try {
    await ahead;
    for await (const event of events) {
      onBegun();
      yield event;
    }
  } finally {
    onBegun();
  }
}

/** A turn that takes the others with it. */
async function* bound(events: AsyncIterable<TurnEvent>, stop: AbortController): AsyncGenerator<TurnEvent> {
  let hasEnded = false;
  try {
    for await (const event of events) {
      if (event.type === 'turn-ended') {
        hasEnded = true;
        if (event.outcome.kind === 'failed') stop.abort(new GatewayError(event.outcome.failure));
      }
      yield event;
    }
  } catch (error) {
    // Whatever an interrupted turn throws, the reason is why it was interrupted.
    if (stop.signal.aborted) throw stop.signal.reason;
    stop.abort(error instanceof GatewayError ? error : new GatewayError(failureOf(error), { cause: error }));
    throw error;
  } finally {
    if (!hasEnded) stop.abort();
  }
}

import { failureOf, GatewayError } from '../canonical/failure/failure.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import { firstAborted } from '../kit/async/wait.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import type { AdmissionPlace } from './admission.ts';
import type { Plan } from '../engine/engine.ts';

export interface ChoicesOptions {
  readonly signal: AbortSignal;
  /**
   * `one-by-one`: a turn starts when the one before it has been accepted. For a large request, which is copied several
   * times on its way: the copies of one choice are freed before those of the next are made.
   */
  readonly pace: 'at-once' | 'one-by-one';
}

/**
 * Runs several answers to a request as parallel turns, each with its own slot. Every plan has as many slots; the answers
 * to the first plan come first. When one turn fails, or its reader stops, the others are interrupted and fail for the
 * same reason.
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
  const either = firstAborted(signal, stop.signal);
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

/** Waits for the previous turn, and signals the next one when it has started or will not start. */
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

/** A turn that stops the others when it fails. */
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
    // An interrupted turn may throw anything: report why it was interrupted.
    if (stop.signal.aborted) throw stop.signal.reason;
    stop.abort(error instanceof GatewayError ? error : new GatewayError(failureOf(error), { cause: error }));
    throw error;
  } finally {
    if (!hasEnded) stop.abort();
  }
}

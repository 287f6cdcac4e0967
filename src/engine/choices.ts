import { failureOf, GatewayError } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import { mapAll, type OneOrMore } from '../kit/one-or-more.ts';
import type { Place } from './admission.ts';
import type { Engine } from './engine.ts';

/**
 * Several answers to one request are turns of their own, side by side, each in a place of its own. They
 * stand and fall together: when one fails, or its reader leaves it, the others are interrupted and fail
 * for the same reason.
 */
export const runChoices = (
  engine: Engine,
  request: TurnRequest,
  places: OneOrMore<Place>,
  signal: AbortSignal,
): OneOrMore<AsyncIterable<TurnEvent>> => {
  const [only] = places;
  if (places.length === 1) return [engine.run(request, signal, () => only.leave())];
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  return mapAll(places, (place) =>
    bound(
      engine.run(request, either, () => place.leave()),
      stop,
    ),
  );
};

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

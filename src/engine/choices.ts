import { failureOf, GatewayError } from '../canonical/failure.ts';
import type { TurnEvent } from '../canonical/turn-event.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';
import type { OneOrMore } from '../kit/one-or-more.ts';
import type { Engine } from './engine.ts';

/**
 * Several answers to one request are turns of their own, side by side. They stand and fall together:
 * when one fails, or its reader leaves it, the others are interrupted and fail for the same reason.
 */
export const runChoices = (
  engine: Engine,
  request: TurnRequest,
  count: number,
  signal: AbortSignal,
): OneOrMore<AsyncIterable<TurnEvent>> => {
  if (count === 1) return [engine.run(request, signal)];
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  const one = (): AsyncIterable<TurnEvent> => bound(engine.run(request, either), stop);
  return [one(), ...Array.from({ length: count - 1 }, one)];
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

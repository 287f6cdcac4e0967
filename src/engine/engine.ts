import type { Path } from '../canonical/request/path.ts';
import type { Rejection } from '../canonical/failure/rejection.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { TurnContext } from '../canonical/context/turn-context.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';

/** Runs turns. The port between the client side, which knows no app-server, and the backend side, which knows no HTTP. */
export interface Engine {
  /** What will become of a request, as far as that is known before its backend is asked. */
  plan(request: TurnRequest, context: TurnContext): Plan;
}

export interface Plan {
  /** What was asked for and will have no effect. The first event of the turn says it again, with what was found out since. */
  readonly ignored: readonly Path[];
  /** Why the request is not to be run; empty: it may be. */
  readonly refused: readonly Rejection[];
  /** Whether the backend fetches images by URL itself; absent: it takes only their bytes. */
  readonly takesImageUrls?: boolean;
  /**
   * The events of one turn; a plan may be run several times. Throws a `GatewayError` when the turn could
   * not be started; once it runs, its failure is the outcome of `turn-ended`. Aborting the signal, or
   * leaving the iteration early, interrupts the turn.
   *
   * `onSettled` is called once a turn that was accepted does not run upstream any more. Its reader may
   * be far behind by then, and need not hold up others.
   */
  run(signal: AbortSignal, onSettled?: () => void): AsyncIterable<TurnEvent>;
}

/** An engine whose plans are changed by each of these, the first of them innermost. */
export const withPlans = (engine: Engine, ...changes: readonly ((plan: Plan) => Plan)[]): Engine => ({
  plan: (...turn) => changes.reduce((plan, change) => change(plan), engine.plan(...turn)),
});

import type { TurnContext } from '../canonical/context/turn-context.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Rejection } from '../canonical/failure/rejection.ts';
import type { Path } from '../canonical/request/path.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';

/** Plans a turn: what will become of a request, as far as that is known before its backend is asked. */
export type PlanTurn = (request: TurnRequest, context: TurnContext) => Plan;

/** Runs turns. The port between the client side, which knows no app-server, and the backend side, which knows no HTTP. */
export interface Engine {
  readonly plan: PlanTurn;
}

export interface Plan {
  /** What was asked for and will have no effect. The first event of the turn says it again, with what was found out since. */
  readonly ignored: readonly Path[];
  /** Why the request must not be run; empty: it may be. */
  readonly refused: readonly Rejection[];
  /** Whether the backend fetches images by URL itself; absent: it takes only their bytes. */
  readonly takesImageUrls?: boolean;
  /** False once something was learned that may change this plan: it can still be run, but a new one is better. */
  isCurrent(): boolean;
  /**
   * The events of one turn; a plan may be run several times. Throws a `GatewayError` when the turn could
   * not be started; once it runs, its failure is the outcome of `turn-ended`. Aborting the signal, or
   * leaving the iteration early, interrupts the turn.
   *
   * `onSettled` is called when an accepted turn no longer runs upstream. Its reader may be far behind by then,
   * and must not hold up others.
   */
  run(signal: AbortSignal, onSettled?: () => void): AsyncIterable<TurnEvent>;
}

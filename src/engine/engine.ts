import type { TurnContext } from '../canonical/context/turn-context.ts';
import type { TurnEvent } from '../canonical/events/turn-event.ts';
import type { Rejection } from '../canonical/failure/rejection.ts';
import type { Path } from '../canonical/request/path.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';

/** Plans a turn: what is known about a request before its backend is asked. */
export type PlanTurn = (request: TurnRequest, context: TurnContext) => Plan;

/** Runs turns. The port between the client side (HTTP) and the backend side (app-server). */
export interface Engine {
  readonly plan: PlanTurn;
}

export interface Plan {
  /** Parts of the request without effect. The first event of the turn has the final list. */
  readonly ignored: readonly Path[];
  /** Why the request must not be run; empty: it may be run. */
  readonly refused: readonly Rejection[];
  /** Whether the backend fetches images by URL itself; absent: it takes only their bytes. */
  readonly takesImageUrls?: boolean;
  /** The reasoning effort that is sent; null: none, so the model's default is in force. */
  readonly effort?: string | null;
  /** False once something was learned that may change this plan: it still works, but a new one is better. */
  isCurrent(): boolean;
  /**
   * The events of one turn; a plan may be run several times. Throws a `GatewayError` if the turn cannot be started; later
   * failures are the outcome of `turn-ended`. Aborting the signal, or leaving the iteration early, interrupts the turn.
   *
   * `onSettled` is called when an accepted turn no longer runs upstream, before the client has read everything.
   */
  run(signal: AbortSignal, onSettled?: () => void): AsyncIterable<TurnEvent>;
}

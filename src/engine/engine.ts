import type { TurnEvent } from '../canonical/turn-event.ts';
import type { TurnRequest } from '../canonical/turn-request.ts';

/** Runs turns. The port between the edge, which knows no app-server, and the south, which knows no HTTP. */
export interface Engine {
  /** The caller's names of parameters that are known beforehand to have no effect. */
  unheard(request: TurnRequest): readonly string[];
  /**
   * The events of one turn. Throws a `GatewayError` when the turn could not be started; once it runs,
   * its failure is the outcome of `turn-ended`. Aborting the signal, or leaving the iteration early,
   * interrupts the turn.
   *
   * `onSettled` is called once a turn that was accepted does not run upstream any more. Its reader may
   * be far behind by then, and need not hold up others.
   */
  run(request: TurnRequest, signal: AbortSignal, onSettled?: () => void): AsyncIterable<TurnEvent>;
}

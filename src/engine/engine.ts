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
   */
  run(request: TurnRequest, signal: AbortSignal): AsyncIterable<TurnEvent>;
}

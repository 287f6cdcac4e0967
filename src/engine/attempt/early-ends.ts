import type { Failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';

/** The worker died, or forgot the turn, and the client has seen nothing yet: another one may try. */
export class WorkerLostEarly extends Error {}

type FailedTurn = Extract<TurnEvent, { type: 'turn-ended' }> & {
  readonly outcome: { readonly kind: 'failed'; readonly failure: Failure };
};

/** The turn failed and the client has seen nothing yet: it may be put in another way. */
export class RefusedEarly extends Error {
  readonly refusal: FailedTurn;

  constructor(refusal: FailedTurn) {
    super('refused');
    this.refusal = refusal;
  }
}

export const isFailed = (event: TurnEvent): event is FailedTurn =>
  event.type === 'turn-ended' && event.outcome.kind === 'failed';

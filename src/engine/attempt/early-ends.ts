import type { Failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';

/** The worker died or lost the turn before the client saw anything: another worker may try. */
export class WorkerLostEarly extends Error {}

type FailedTurn = Extract<TurnEvent, { type: 'turn-ended' }> & {
  readonly outcome: { readonly kind: 'failed'; readonly failure: Failure };
};

/** The turn failed before the client saw anything: another request strategy may work. */
export class RefusedEarly extends Error {
  readonly refusal: FailedTurn;

  constructor(refusal: FailedTurn) {
    super('refused');
    this.refusal = refusal;
  }
}

export const isFailed = (event: TurnEvent): event is FailedTurn =>
  event.type === 'turn-ended' && event.outcome.kind === 'failed';

import { GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { hideSecrets } from '../../kit/text/hide-secrets.ts';
import type { Plan } from '../engine.ts';

/**
 * No failure of a turn quotes these. A backend may repeat the key that it refuses, bare, and its words
 * come by several ways; the last place that they all pass is here.
 */
export const keepSecrets = (secrets: readonly string[]): ((plan: Plan) => Plan) => {
  if (secrets.length === 0) return (plan) => plan;
  const hide = hideSecrets(secrets);
  const hidden = (failed: Failure): Failure => ({
    ...failed,
    message: hide(failed.message),
    code: hide(failed.code),
    param: failed.param === null ? null : hide(failed.param),
  });
  return (plan) => ({
    ...plan,
    async *run(signal, onSettled) {
      try {
        for await (const event of plan.run(signal, onSettled)) yield withoutSecrets(event, hidden);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        throw new GatewayError(hidden(error.failure), { cause: error.cause });
      }
    },
  });
};

const withoutSecrets = (event: TurnEvent, hidden: (failed: Failure) => Failure): TurnEvent => {
  if (event.type !== 'turn-ended' || event.outcome.kind !== 'failed') return event;
  return { ...event, outcome: { ...event.outcome, failure: hidden(event.outcome.failure) } };
};

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { hideSecrets as hideIn } from '../../kit/text/hide-secrets.ts';
import { changeEvents } from './change-events.ts';
import type { Step } from './step.ts';

/** Removes secrets from failures. */
export const hideSecrets: Step<{ readonly secrets: readonly string[] }> = {
  name: 'hide-secrets',
  why: 'A backend may quote the key that it rejects. Failures come from every step below, so this one is around them all.',
  wrap(next, { secrets }) {
    if (secrets.length === 0) return next;
    const hide = hideIn(secrets);
    const hidden = (failed: Failure): Failure => ({
      ...failed,
      message: hide(failed.message),
      code: hide(failed.code),
      param: failed.param === null ? null : hide(failed.param),
    });
    const change = {
      event: (event: TurnEvent): TurnEvent =>
        event.type === 'turn-ended' && event.outcome.kind === 'failed'
          ? { ...event, outcome: { ...event.outcome, failure: hidden(event.outcome.failure) } }
          : event,
      thrown(error: unknown): never {
        if (!(error instanceof GatewayError)) throw error;
        throw new GatewayError(hidden(error.failure), { cause: error.cause });
      },
    };
    return (...turn) => changeEvents(next(...turn), () => change);
  },
};

import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { accessTokenRejected } from '../../codex/failures/access-token.ts';
import { changeEvents } from './change-events.ts';
import type { Step } from './step.ts';

/** Says that the access token has to be replaced, if the backend rejects it. */
export const nameAccessToken: Step<{ readonly usesAccessToken: boolean }> = {
  name: 'name-access-token',
  why: 'An access token cannot be renewed: once the backend rejects it, only its operator can help. Around every step that may report a rejection.',
  wrap(next, { usesAccessToken }) {
    if (!usesAccessToken) return next;
    return (...turn) => changeEvents(next(...turn), () => CHANGE);
  },
};

const named = (failed: Failure): Failure => {
  if (failed.kind !== 'upstream_unauthorized') return failed;
  const rejected = accessTokenRejected();
  return { ...rejected, headers: { ...failed.headers, ...rejected.headers } };
};

const CHANGE = {
  event: (event: TurnEvent): TurnEvent =>
    event.type === 'turn-ended' && event.outcome.kind === 'failed'
      ? { ...event, outcome: { ...event.outcome, failure: named(event.outcome.failure) } }
      : event,
  thrown(error: unknown): never {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError(named(error.failure), { cause: error.cause });
  },
};

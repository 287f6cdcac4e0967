import { failure } from '../../canonical/failure.ts';
import type { Outcome } from '../../canonical/outcome.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
import type { WireReport } from './wire-report.ts';
import { incompleteReason, toFailure } from './failures.ts';

/** How the app-server says a turn ended. */
export const toOutcome = (turn: { readonly status: string; readonly error: TurnError | null }): Outcome => {
  if (turn.status === 'completed') return { kind: 'completed' };
  if (turn.error === null) return { kind: 'failed', failure: failure('server_error') };
  const reason = incompleteReason(turn.error);
  return reason === null
    ? { kind: 'failed', failure: toFailure(turn.error) }
    : { kind: 'incomplete', reason };
};

/** The backend's own words about a failure are better than the app-server's about them. */
export const refine = (
  outcome: Outcome,
  report: Pick<WireReport, 'failure' | 'signIn' | 'incomplete'> | null,
): Outcome => {
  if (outcome.kind !== 'failed' || report === null) return outcome;
  // These are about us, whatever the backend said.
  if (outcome.failure.kind === 'worker_lost' || outcome.failure.kind === 'client_too_slow') return outcome;
  if (report.incomplete !== null) return { kind: 'incomplete', reason: report.incomplete };
  const isRefused = report.failure === null || report.failure.kind === 'upstream_unauthorized';
  // Credentials were to be renewed, and that failed too, on another way than that of the request.
  if (isRefused && outcome.failure.kind !== 'upstream_unauthorized') {
    const isRenewal = report.signIn !== null && outcome.failure.kind === 'upstream_error';
    return isRenewal ? { kind: 'failed', failure: report.signIn } : outcome;
  }
  return report.failure === null ? outcome : { kind: 'failed', failure: report.failure };
};

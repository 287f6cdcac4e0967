import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { Outcome } from '../../canonical/events/outcome.ts';
import { resourceFailure } from '../../canonical/failure/resources.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
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

/** What is known besides what the app-server says. */
export interface BackendNotes {
  /** What the backend said about its last answer. */
  readonly failure: Failure | null;
  /** Why the login could not be renewed of late, where that is not the login's own fault. */
  readonly signIn: Failure | null;
  /** The relay has begun to pass an answer on. */
  readonly isAnswered: boolean;
}

/** The backend's own words about a failure are better than the app-server's about them. */
export const preferBackendFailure = (outcome: Outcome, noted: BackendNotes): Outcome => {
  if (outcome.kind !== 'failed') return outcome;
  // These are about us, whatever the backend said.
  if (outcome.failure.kind === 'worker_lost' || outcome.failure.kind === 'client_too_slow') return outcome;
  if (isWithoutRelay(outcome.failure, noted)) return { kind: 'failed', failure: resourceFailure() };
  const isRefused = noted.failure === null || noted.failure.kind === 'upstream_unauthorized';
  // Credentials were to be renewed, and that failed too, on another way than that of the request.
  if (isRefused && outcome.failure.kind !== 'upstream_unauthorized') {
    const isRenewal = noted.signIn !== null && outcome.failure.kind === 'upstream_error';
    return isRenewal ? { kind: 'failed', failure: noted.signIn } : outcome;
  }
  return noted.failure === null ? outcome : { kind: 'failed', failure: noted.failure };
};

/**
 * The app-server reached nobody, and the relay does not know of it: it did not get as far as the relay, which
 * is in this process. Where it wanted to reach somebody else, it says whom.
 */
const isWithoutRelay = (failed: Failure, noted: BackendNotes): boolean =>
  !noted.isAnswered &&
  noted.failure === null &&
  failed.kind === 'upstream_unreachable' &&
  failed.message === UNREACHABLE;

const UNREACHABLE = failure('upstream_unreachable').message;

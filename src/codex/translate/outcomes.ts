import { failure, resourceFailure, type Failure } from '../../canonical/failure/failure.ts';
import type { Outcome } from '../../canonical/events/turn-event.ts';
import type { TurnError } from '../protocol/generated/v2/TurnError.ts';
import { incompleteReason, toFailure } from './failures.ts';

/** The outcome that the app-server reports for a turn. */
export const toOutcome = (turn: { readonly status: string; readonly error: TurnError | null }): Outcome => {
  if (turn.status === 'completed') return { kind: 'completed' };
  if (turn.error === null) return { kind: 'failed', failure: failure('server_error') };
  const reason = incompleteReason(turn.error);
  return reason === null
    ? { kind: 'failed', failure: toFailure(turn.error) }
    : { kind: 'incomplete', reason };
};

/** What is known besides the app-server's report. */
export interface BackendNotes {
  /** The backend's error about its last answer. */
  readonly failure: Failure | null;
  /** Why the login could not be renewed recently, if that is not the login's own fault. */
  readonly signIn: Failure | null;
  /** The relay has started to pass an answer on. */
  readonly isAnswered: boolean;
}

/** Prefers the backend's own error to the app-server's report of it. */
export const preferBackendFailure = (outcome: Outcome, noted: BackendNotes): Outcome => {
  if (outcome.kind !== 'failed') return outcome;
  // Failures on our side, whatever the backend reported.
  if (outcome.failure.kind === 'worker_lost' || outcome.failure.kind === 'client_too_slow') return outcome;
  if (isWithoutRelay(outcome.failure, noted)) return { kind: 'failed', failure: resourceFailure() };
  const isRefused = noted.failure === null || noted.failure.kind === 'upstream_unauthorized';
  // The credentials were to be renewed, and that failed too, at another URL.
  if (isRefused && outcome.failure.kind !== 'upstream_unauthorized') {
    const isRenewal = noted.signIn !== null && outcome.failure.kind === 'upstream_error';
    return isRenewal ? { kind: 'failed', failure: noted.signIn } : outcome;
  }
  return noted.failure === null ? outcome : { kind: 'failed', failure: noted.failure };
};

/**
 * The app-server could not connect, and the relay did not see the request. The relay is in this process, so
 * the machine lacks resources, unless the error names another host.
 */
const isWithoutRelay = (failed: Failure, noted: BackendNotes): boolean =>
  !noted.isAnswered &&
  noted.failure === null &&
  failed.kind === 'upstream_unreachable' &&
  failed.message === UNREACHABLE;

const UNREACHABLE = failure('upstream_unreachable').message;

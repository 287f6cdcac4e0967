import type { IncompleteReason } from '../../../canonical/events/turn-event.ts';
import type { Failure } from '../../../canonical/failure/failure.ts';
import type { TurnErrorCode } from './objects.ts';

export interface TurnError {
  readonly code: TurnErrorCode;
  readonly message: string;
}

/** The codes of turns are a closed list. */
const CODES: Readonly<Record<string, TurnErrorCode>> = {
  context_length_exceeded: 'context_length_exceeded',
  insufficient_quota: 'usage_limit_exceeded',
  rate_limit_exceeded: 'rate_limit_exceeded',
  concurrency_limit: 'rate_limit_exceeded',
  workspace_busy: 'server_overloaded',
  server_overloaded: 'server_overloaded',
  upstream_overloaded: 'server_overloaded',
  worker_unavailable: 'server_overloaded',
  out_of_resources: 'server_overloaded',
  store_unavailable: 'server_overloaded',
  upstream_unreachable: 'connection_failed',
  upstream_timeout: 'connection_failed',
  upstream_blocked: 'connection_failed',
  upstream_unauthorized: 'authentication_error',
  sign_in_required: 'authentication_error',
  account_unavailable: 'authentication_error',
  invalid_api_key: 'authentication_error',
  missing_scope: 'authentication_error',
  upstream_forbidden: 'authentication_error',
  turn_timeout: 'request_timeout',
  request_timeout: 'request_timeout',
  mcp_server_unavailable: 'sandbox_error',
  model_request_limit_exceeded: 'server_error',
  worker_lost: 'server_error',
  shutting_down: 'server_error',
};

/** A failure in the words of the Agents API. */
export const turnErrorOf = ({ kind, status, message, row }: Failure): TurnError => {
  const known = CODES[kind];
  if (known !== undefined) return { code: known, message };
  // What a key has used up.
  if (status === 429)
    return { code: row?.source === 'key' ? 'usage_limit_exceeded' : 'rate_limit_exceeded', message };
  if (status === 401 || status === 403) return { code: 'authentication_error', message };
  return { code: status < 500 ? 'invalid_request' : 'server_error', message };
};

/** Why a turn is not completed if its answer is incomplete. */
export const INCOMPLETE_TURNS: Readonly<Record<IncompleteReason, TurnError>> = {
  max_output_tokens: {
    code: 'max_output_tokens',
    message: 'The answer reached the limit of output tokens.',
  },
  content_filter: {
    code: 'invalid_request',
    message: 'The upstream stopped the answer because of its content.',
  },
  max_model_requests: { code: 'server_error', message: 'The turn needed too many model requests.' },
  max_tool_calls: { code: 'server_error', message: 'The model called too many tools.' },
  max_run_seconds: {
    code: 'request_timeout',
    message: 'The turn took longer than its workspace allows.',
  },
  steered: { code: 'internal_error', message: 'The answer was interrupted.' },
};

export const STOPPED_TURN: TurnError = {
  code: 'server_error',
  message: 'The server stopped while this turn was running.',
};

export const LONG_TURN: TurnError = {
  code: 'request_timeout',
  message: 'The turn took longer than this server allows.',
};

export const UNANSWERED_TURN: TurnError = {
  code: 'request_timeout',
  message: 'The client did not answer a call in time.',
};

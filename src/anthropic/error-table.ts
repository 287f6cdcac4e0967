import type { FailureCode } from '../canonical/failure/failure-catalogue.ts';
import type { Failure } from '../canonical/failure/failure.ts';

/** How Anthropic's API reports a failure. */
interface AnthropicError {
  readonly status: number;
  /** Clients branch on it. */
  readonly type: string;
  /** The failure is about a field of the body, which the message then names first. */
  readonly isAboutField?: true;
  /** Claude Code retries it for minutes, unless `x-should-retry` says otherwise. */
  readonly isFinal?: true;
}

const error = (status: number, type: string): AnthropicError => ({ status, type });

const INVALID = error(400, 'invalid_request_error');
const FIELD: AnthropicError = { ...INVALID, isAboutField: true };
const NOT_FOUND = error(404, 'not_found_error');
const LIMITED = error(429, 'rate_limit_error');
const OVERLOADED = error(529, 'overloaded_error');
const BROKEN = error(500, 'api_error');
const BAD_GATEWAY = error(502, 'api_error');
const UNAVAILABLE = error(503, 'api_error');
const TIMED_OUT = error(504, 'timeout_error');

/** The failures of the catalogue as Anthropic's API reports them. A new one does not compile without a row. */
const ANTHROPIC_ERRORS: Readonly<Record<FailureCode, AnthropicError>> = {
  invalid_value: FIELD,
  invalid_type: FIELD,
  missing_required_parameter: FIELD,
  unpaired_tool_call: FIELD,
  unsupported_parameter: FIELD,
  unsupported_value: FIELD,
  unsupported_tool: FIELD,
  unsupported_file: FIELD,
  invalid_image: FIELD,
  invalid_json: INVALID,
  invalid_form: INVALID,
  malformed_request: INVALID,
  // The upstream names the fields of its own API.
  invalid_prompt: INVALID,
  context_length_exceeded: INVALID,
  content_policy_violation: INVALID,
  moderation_blocked: INVALID,
  model_request_limit_exceeded: INVALID,
  not_cancellable: INVALID,
  not_streamable: INVALID,
  previous_response_not_found: INVALID,
  thread_not_found: NOT_FOUND,
  thread_unsupported_request: INVALID,
  conversation_locked: INVALID,
  invalid_stream_id: INVALID,
  websocket_stream_limit_reached: INVALID,
  websocket_connection_limit_reached: INVALID,
  missing_scope: { ...error(403, 'permission_error'), isFinal: true },
  invalid_api_key: { ...error(401, 'authentication_error'), isFinal: true },
  // Claude Code stops at a 403, and its user sees the message.
  upstream_forbidden: error(403, 'permission_error'),
  origin_not_allowed: error(403, 'permission_error'),
  console_not_served: { ...error(403, 'permission_error'), isFinal: true },
  sign_in_limit_exceeded: LIMITED,
  model_not_found: NOT_FOUND,
  response_not_found: NOT_FOUND,
  unknown_sign_in: NOT_FOUND,
  sign_in_pending: { ...error(409, 'invalid_request_error'), isFinal: true },
  sign_in_failed: { ...BAD_GATEWAY, isFinal: true },
  sign_out_failed: { ...BAD_GATEWAY, isFinal: true },
  unknown_response: NOT_FOUND,
  unknown_conversation: NOT_FOUND,
  unknown_chat_completion: NOT_FOUND,
  unknown_item: NOT_FOUND,
  unknown_request: NOT_FOUND,
  endpoint_not_supported: NOT_FOUND,
  unknown_url: NOT_FOUND,
  method_not_allowed: error(405, 'invalid_request_error'),
  request_timeout: error(408, 'timeout_error'),
  request_not_replayable: error(409, 'invalid_request_error'),
  response_not_steerable: error(409, 'invalid_request_error'),
  request_too_large: error(413, 'request_too_large'),
  mcp_server_unavailable: error(424, 'api_error'),
  websocket_not_supported: error(426, 'invalid_request_error'),
  headers_too_large: error(431, 'request_too_large'),
  rate_limit_exceeded: LIMITED,
  concurrency_limit: LIMITED,
  background_limit: LIMITED,
  insufficient_quota: LIMITED,
  client_too_slow: BROKEN,
  server_error: BROKEN,
  store_corrupt: BROKEN,
  upstream_error: BAD_GATEWAY,
  too_many_output_items: BAD_GATEWAY,
  answer_too_large: BAD_GATEWAY,
  tool_choice_not_satisfied: BAD_GATEWAY,
  image_not_generated: BAD_GATEWAY,
  upstream_unauthorized: BAD_GATEWAY,
  upstream_blocked: BAD_GATEWAY,
  upstream_unreachable: BAD_GATEWAY,
  worker_lost: BAD_GATEWAY,
  upstream_timeout: TIMED_OUT,
  turn_timeout: TIMED_OUT,
  worker_unavailable: UNAVAILABLE,
  out_of_resources: UNAVAILABLE,
  codex_incompatible: UNAVAILABLE,
  shutting_down: UNAVAILABLE,
  sign_in_required: UNAVAILABLE,
  account_unavailable: UNAVAILABLE,
  store_unavailable: UNAVAILABLE,
  server_overloaded: OVERLOADED,
  upstream_overloaded: OVERLOADED,
};

/** The failures of features, by their status. */
const BY_STATUS: Readonly<Record<number, AnthropicError>> = {
  400: INVALID,
  401: error(401, 'authentication_error'),
  403: error(403, 'permission_error'),
  404: NOT_FOUND,
  408: error(408, 'timeout_error'),
  409: error(409, 'invalid_request_error'),
  413: error(413, 'request_too_large'),
  429: LIMITED,
  502: BAD_GATEWAY,
  503: UNAVAILABLE,
  504: TIMED_OUT,
};

/** How Anthropic's API reports this failure. */
export const anthropicError = ({
  kind,
  status,
  row,
}: Pick<Failure, 'kind' | 'status' | 'row'>): AnthropicError => {
  if (row === undefined) return ANTHROPIC_ERRORS[kind as FailureCode];
  return BY_STATUS[status] ?? (status < 500 ? error(status, 'invalid_request_error') : BROKEN);
};

import type { Failure, Restate } from '../canonical/failure/failure.ts';
import { errorHeaders } from '../apis/sse.ts';
import type { ErrorForm } from '../turns/api.ts';
import type { FailureCode } from '../canonical/failure/failure-catalogue.ts';
import type { ModelName } from '../canonical/models/model-names.ts';
import { quoted } from '../kit/text/display.ts';

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
  thread_unsupported_request: INVALID,
  missing_scope: { ...error(403, 'permission_error'), isFinal: true },
  invalid_api_key: { ...error(401, 'authentication_error'), isFinal: true },
  // Claude Code stops at a 403, and its user sees the message.
  upstream_forbidden: error(403, 'permission_error'),
  origin_not_allowed: error(403, 'permission_error'),
  sign_in_limit_exceeded: LIMITED,
  model_not_found: NOT_FOUND,
  response_not_found: NOT_FOUND,
  not_streamable: FIELD,
  unknown_item: NOT_FOUND,
  endpoint_not_supported: NOT_FOUND,
  unknown_url: NOT_FOUND,
  method_not_allowed: error(405, 'invalid_request_error'),
  request_timeout: error(408, 'timeout_error'),
  response_not_steerable: error(409, 'invalid_request_error'),
  request_too_large: error(413, 'request_too_large'),
  mcp_server_unavailable: error(424, 'api_error'),
  websocket_not_supported: error(426, 'invalid_request_error'),
  headers_too_large: error(431, 'request_too_large'),
  rate_limit_exceeded: LIMITED,
  concurrency_limit: LIMITED,
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

/** The error object. Further fields of a failure, such as `details`, are part of it. */
const projectError = (failed: Failure) => ({
  type: anthropicError(failed).type,
  message: messageOf(failed),
  ...failed.more,
});

/** The body of an error, which is also the data of an `error` event. */
export const anthropicErrorBody = (failed: Failure) => ({
  type: 'error' as const,
  error: projectError(failed),
});

/** Anthropic's errors. */
export const anthropicErrors: ErrorForm = (failed, requestId) => {
  const { status, isFinal = false } = anthropicError(failed);
  return {
    status,
    headers: { ...errorHeaders(failed), ...(isFinal ? { 'x-should-retry': 'false' } : {}) },
    body: { ...anthropicErrorBody(failed), request_id: requestId },
  };
};

/** Anthropic's form has no `param`: the message names the field first, as in `max_tokens: Field required`. */
const messageOf = (failed: Failure): string => {
  const { kind, message, param } = failed;
  if (param === null || anthropicError(failed).isAboutField !== true) return message;
  if (param === '') return message.replace(/^Invalid type for '': /, 'body: ');
  if (kind === 'missing_required_parameter') return `${param}: Field required`;
  const opening = OPENINGS.map((text) => `${text} '${param}': `).find((text) => message.startsWith(text));
  if (opening !== undefined) return `${param}: ${message.slice(opening.length)}`;
  const isNamed = message.includes(`'${param}'`) || message.startsWith(`${param}: `);
  return isNamed ? message : `${param}: ${message}`;
};

/** How messages in OpenAI's wording begin before they name the field. */
const OPENINGS = ['Invalid type for', 'Invalid'];

/** Rewrites the failures of a turn that clients recognise by Anthropic's words. */
export const restateFailure =
  ({ id, info }: Pick<ModelName, 'id' | 'info'>): Restate =>
  async (failed, count) => {
    if (failed.kind === 'model_not_found') return { ...failed, message: `model: ${quoted(id)}` };
    if (failed.kind !== 'context_length_exceeded') return failed;
    return { ...failed, message: await tooLong(failed, info.contextWindow, count) };
  };

/**
 * Says by how much a request is too long: Claude Code then compacts its conversation, or asks for a shorter answer. Without
 * numbers if they are unknown, or if a count does not confirm what the backend says.
 */
const tooLong = async (
  { message }: Failure,
  window: number | null,
  count: () => Promise<number | null>,
): Promise<string> => {
  const { input = null, output = null, limit = window } = numbersIn(message);
  if (input !== null && output !== null && limit !== null && input <= limit && input + output > limit) {
    return `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again`;
  }
  const tokens = input ?? (limit === null ? null : await count());
  return tokens !== null && limit !== null && tokens > limit
    ? `prompt is too long: ${tokens} tokens > ${limit} maximum`
    : `prompt is too long: ${message}`;
};

interface Numbers {
  readonly input?: number;
  readonly output?: number;
  readonly limit?: number;
}

/** How OpenAI, servers that are compatible with it, and Google word this error. */
const WORDINGS: readonly RegExp[] = [
  /maximum context length is (?<limit>\d+) tokens.{0,100}\((?<input>\d+) (?:in|of) (?:the|your) \w+[,;] (?<output>\d+) (?:in|for) the completion/is,
  /passed (?<input>\d+) input tokens and requested (?<output>\d+) output tokens.{0,100}context length is only (?<limit>\d+)/is,
  /(?:maximum context length is|limit of) (?<limit>\d+) tokens.{0,100}resulted in (?<input>\d+) tokens/is,
  /token count \((?<input>\d+)\) exceeds the maximum number of tokens allowed \((?<limit>\d+)\)/i,
  /prompt is too long: (?<input>\d+) tokens > (?<limit>\d+) maximum/i,
];

const numbersIn = (message: string): Numbers => {
  for (const wording of WORDINGS) {
    const groups = wording.exec(message)?.groups;
    if (groups === undefined) continue;
    return Object.fromEntries(
      Object.entries(groups).flatMap(([name, digits]) =>
        digits === undefined ? [] : [[name, Number(digits)]],
      ),
    );
  }
  return {};
};

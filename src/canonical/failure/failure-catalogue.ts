import { ANSWER_FAILURES } from './answer-failures.ts';
import { TYPES, type CatalogueEntry } from './failure-row.ts';

/** Every error that a client can see. `docs/errors.md` is generated from it. */
export const FAILURES = {
  invalid_value: {
    status: 400,
    type: TYPES.invalid,
    message: 'Invalid value.',
    when: 'a value is outside what the parameter allows',
  },
  invalid_type: {
    status: 400,
    type: TYPES.invalid,
    message: 'Invalid type.',
    when: 'a value has the wrong JSON type',
  },
  missing_required_parameter: {
    status: 400,
    type: TYPES.invalid,
    message: 'Missing required parameter.',
    when: 'a required parameter is missing',
  },
  unsupported_parameter: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported parameter.',
    when: 'the parameter is not supported (with `PROXY_STRICT_PARAMS`: also one that would be ignored)',
  },
  unsupported_value: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported value.',
    when: 'OpenAI accepts the value, but this server does not support it',
  },
  unsupported_tool: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported tool.',
    when: 'the tool type is not supported',
  },
  unsupported_file: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported file.',
    when: 'the file is not text, and the backend does not accept files',
  },
  invalid_json: {
    status: 400,
    type: TYPES.invalid,
    message: 'We could not parse the JSON body of your request.',
    when: 'the body is not JSON',
  },
  invalid_form: {
    status: 400,
    type: TYPES.invalid,
    message: 'We could not parse the form of your request.',
    when: 'the body is not valid `multipart/form-data`, or has too many parts',
  },
  malformed_request: {
    status: 400,
    type: TYPES.invalid,
    message: 'The HTTP request could not be read.',
    when: 'the request is not valid HTTP, or has no valid Host header',
  },
  invalid_image: {
    status: 400,
    type: TYPES.invalid,
    message: 'The image could not be read.',
    when: 'the image is not a PNG, JPEG, GIF or WebP, or could not be fetched',
  },
  invalid_prompt: {
    status: 400,
    type: TYPES.invalid,
    message: 'The upstream rejected the request.',
    when: 'the app-server or the backend rejected the request without an error code',
  },
  context_length_exceeded: {
    status: 400,
    type: TYPES.invalid,
    message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
    when: "the conversation does not fit the model's context window",
  },
  content_policy_violation: {
    status: 400,
    type: TYPES.invalid,
    message: 'The upstream blocked the request because of its usage policy.',
    when: 'the backend blocked the request for policy reasons; `code` is that of the backend if it sent one',
  },
  moderation_blocked: {
    status: 400,
    type: TYPES.image,
    message: 'The safety system of the upstream rejected the image request.',
    when: 'the backend or the model refused to generate the image',
  },
  invalid_api_key: {
    status: 401,
    type: TYPES.invalid,
    message: 'Incorrect API key provided.',
    when: 'the key in the Authorization header is missing or wrong',
  },
  upstream_forbidden: {
    // Not 403: clients would blame the caller's API key.
    status: 400,
    type: TYPES.invalid,
    message: 'The upstream does not allow this request.',
    when: 'the backend answered 403',
  },
  model_not_found: {
    status: 404,
    type: TYPES.invalid,
    message: 'The model does not exist or you do not have access to it.',
    when: 'the model does not exist, or the account has no access to it',
  },
  response_not_found: {
    status: 404,
    type: TYPES.invalid,
    message: 'No running response has this id.',
    when: 'steering a response that is unknown, has ended, or belongs to another key; responses are not stored',
  },
  endpoint_not_supported: {
    status: 404,
    type: TYPES.invalid,
    message: 'This endpoint is not supported.',
    when: "the API is not supported (embeddings, audio, Anthropic's messages; images without the relay)",
  },
  unknown_url: {
    status: 404,
    type: TYPES.invalid,
    message: 'Unknown request URL.',
    when: 'the route does not exist',
  },
  method_not_allowed: {
    status: 405,
    type: TYPES.invalid,
    message: 'Not allowed to use this method on this URL.',
    when: 'the route exists, but not with this method',
  },
  websocket_not_supported: {
    status: 426,
    type: TYPES.invalid,
    message: 'WebSockets are not supported: send the request over HTTP.',
    when: 'the client asks for a WebSocket; codex then continues over HTTP',
  },
  request_timeout: {
    status: 408,
    type: TYPES.invalid,
    message: 'The request did not arrive in time. Please send it again.',
    when: 'no part of the request body arrived for PROXY_UPLOAD_IDLE_TIMEOUT_MS, or less than 1024 bytes per second, or the whole request took too long to arrive',
  },
  response_not_steerable: {
    status: 409,
    type: TYPES.invalid,
    message:
      'This response cannot be steered now: the model has not started to answer, is calling a tool, or has finished.',
    when: 'steering a response before its answer has started, while the model calls a tool of the client, or when it is about to end',
  },
  request_too_large: {
    status: 413,
    type: TYPES.invalid,
    message: 'The request body is too large.',
    when: 'the body is larger than PROXY_MAX_BODY_BYTES',
  },
  mcp_server_unavailable: {
    status: 424,
    type: TYPES.connector,
    message: 'An MCP server could not be used.',
    when: 'an MCP server of the request did not start, could not be reached, or did not list its tools; the message names the server and the reason',
  },
  headers_too_large: {
    status: 431,
    type: TYPES.invalid,
    message: 'The headers of the request are too large.',
    when: 'the headers exceed 16 KB in total',
  },
  rate_limit_exceeded: {
    status: 429,
    type: TYPES.rate,
    message: 'Rate limit reached. Please try again later.',
    when: 'the backend answered 429',
  },
  concurrency_limit: {
    status: 429,
    type: TYPES.rate,
    message: 'Too many concurrent requests from this key. Please try again later.',
    when: 'the queue for turns is full, and the key has more than its fair share of running and waiting turns',
  },
  insufficient_quota: {
    status: 429,
    type: TYPES.quota,
    message: 'The account that this server uses has reached its usage limit.',
    when: 'the account that this server uses has reached its usage limit; `retry-after` says when it resets, if known',
    // A retry after a short wait does not help.
    final: true,
  },
  client_too_slow: {
    status: 500,
    type: TYPES.server,
    message: 'The client did not read the answer fast enough.',
    when: 'the unread part of an answer exceeded its buffer',
  },
  server_error: {
    status: 500,
    type: TYPES.server,
    message: 'The server had an error while processing your request.',
    when: 'an unexpected error in this server or in the app-server',
  },
  upstream_error: {
    status: 502,
    type: TYPES.server,
    message: 'The upstream had an error while processing the request.',
    when: 'the backend answered 5xx, cut the answer off, or does not have the path',
  },
  ...ANSWER_FAILURES,
  upstream_unauthorized: {
    status: 502,
    type: TYPES.server,
    message:
      'The upstream rejected the credentials of this server. Its operator has to sign in again, or to check PROXY_UPSTREAM_API_KEY.',
    when: "the backend answered 401: the credentials are this server's, not the caller's",
    final: true,
  },
  upstream_blocked: {
    status: 502,
    type: TYPES.server,
    message:
      'Cloudflare, in front of the upstream, blocked the request with a page for browsers. On the server, try PROXY_WIRE=off or another network; its command `doctor` shows details.',
    when: 'Cloudflare answered in place of the backend, with a page for browsers',
  },
  upstream_unreachable: {
    status: 502,
    type: TYPES.server,
    message: 'The upstream could not be reached.',
    when: 'no connection to the backend; the message names its host and the reason',
  },
  worker_lost: {
    status: 502,
    type: TYPES.server,
    message: 'The app-server stopped while it was answering.',
    when: 'the app-server process died during an answer',
  },
  upstream_timeout: {
    status: 504,
    type: TYPES.server,
    message: 'The upstream did not answer in time.',
    when: 'the backend sent nothing for PROXY_UPSTREAM_IDLE_TIMEOUT_MS, before or during its answer, or an intermediary reported a timeout (408, 504, 524)',
  },
  turn_timeout: {
    status: 504,
    type: TYPES.server,
    message: 'The answer took longer than this server allows (PROXY_TURN_TIMEOUT_MS).',
    when: 'the answer was not finished within PROXY_TURN_TIMEOUT_MS',
  },
  server_overloaded: {
    status: 503,
    type: TYPES.server,
    message: 'The server has too many requests. Please try again later.',
    when: 'the queue for turns is full, the wait in it was too long, or the request bodies in progress are too large in total; a body can also be rejected in favour of a key that uses less',
  },
  worker_unavailable: {
    status: 503,
    type: TYPES.server,
    message: 'No app-server is ready. Please try again shortly.',
    when: 'the app-server is starting, is overloaded, or cannot be started, for example because the disk is full; the message gives the reason if it is known',
  },
  out_of_resources: {
    status: 503,
    type: TYPES.server,
    message: 'This server cannot accept another connection right now. Please try again shortly.',
    when: 'the process has run out of file descriptors or memory for connections (`EMFILE`), or clients hold half of its file descriptors: raise its limits',
  },
  shutting_down: {
    status: 503,
    type: TYPES.server,
    message: 'The server is shutting down.',
    when: 'after SIGTERM, until the process ends',
  },
  sign_in_required: {
    status: 503,
    type: TYPES.server,
    message:
      'This server has no backend: it is not signed in. On the server, run `npm run login` (its start-up message shows the command), or set PROXY_UPSTREAM_BASE_URL.',
    when: 'no usable login, no upstream, and no demo model',
    final: true,
  },
  account_unavailable: {
    status: 503,
    type: TYPES.server,
    message:
      'The account that this server uses is unavailable: its workspace settings could not be loaded. Please try again shortly.',
    when: 'the workspace settings of the account could not be loaded, or the workspace is closed',
  },
  upstream_overloaded: {
    status: 503,
    type: TYPES.server,
    message: 'The upstream is overloaded. Please try again shortly.',
    when: 'the backend reports that it has no capacity',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type FailureCode = keyof typeof FAILURES;

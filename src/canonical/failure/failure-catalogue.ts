import { row, type CatalogueEntry } from './catalogue-row.ts';

/** Every error that a client can see. `docs/errors.md` is generated from it. */
export const FAILURES = {
  invalid_value: row(400, 'Invalid value.', 'a value is outside what the parameter allows'),
  invalid_type: row(400, 'Invalid type.', 'a value has the wrong JSON type'),
  missing_required_parameter: row(400, 'Missing required parameter.', 'a required parameter is missing'),
  unpaired_tool_call: row(
    400,
    'A tool call and its output do not match.',
    'a tool call has no output, or a tool output has no call, in the input and the stored conversation before it',
    { codeless: true },
  ),
  unsupported_parameter: row(
    400,
    'Unsupported parameter.',
    'the parameter is not supported (with `PROXY_STRICT_PARAMS`: also one that would be ignored)',
  ),
  unsupported_value: row(
    400,
    'Unsupported value.',
    'OpenAI accepts the value, but this server does not support it',
  ),
  unsupported_tool: row(400, 'Unsupported tool.', 'the tool type is not supported'),
  unsupported_file: row(
    400,
    'Unsupported file.',
    'the file is not text, and the backend does not accept files',
  ),
  invalid_json: row(400, 'We could not parse the JSON body of your request.', 'the body is not JSON'),
  invalid_form: row(
    400,
    'We could not parse the form of your request.',
    'the body is not valid `multipart/form-data`, or has too many parts',
  ),
  malformed_request: row(
    400,
    'The HTTP request could not be read.',
    'the request is not valid HTTP, or has no valid Host header',
  ),
  invalid_image: row(
    400,
    'The image could not be read.',
    'the image is not a PNG, JPEG, GIF or WebP, or could not be fetched',
  ),
  invalid_prompt: row(
    400,
    'The upstream rejected the request.',
    'the app-server or the backend rejected the request without an error code',
  ),
  context_length_exceeded: row(
    400,
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    "the conversation does not fit the model's context window",
  ),
  content_policy_violation: row(
    400,
    'The upstream blocked the request because of its usage policy.',
    'the backend blocked the request for policy reasons; `code` is that of the backend if it sent one',
  ),
  moderation_blocked: row(
    400,
    'The safety system of the upstream rejected the image request.',
    'the backend or the model refused to generate the image',
    { type: 'image_generation_user_error' },
  ),
  invalid_api_key: row(
    401,
    'Incorrect API key provided.',
    'the key in the Authorization header is missing or wrong',
  ),
  missing_scope: row(
    403,
    'You have insufficient permissions for this operation.',
    'the API key has none of the scopes that the route needs; the message names them',
    { final: true },
  ),
  // Not 403: clients would blame the caller's API key.
  upstream_forbidden: row(400, 'The upstream does not allow this request.', 'the backend answered 403'),
  model_not_found: row(
    404,
    'The model does not exist or you do not have access to it.',
    'the model does not exist, or the account has no access to it',
  ),
  response_not_found: row(
    404,
    'No running response has this id.',
    'steering a response that is unknown, has ended, or belongs to another key',
  ),
  not_streamable: row(
    400,
    'This response cannot be streamed.',
    'streaming a stored response that was not created with `background: true` or `stream: true`, or whose events are not kept any more; `code` is `invalid_request_error`. Or events of a session that are not kept any more',
  ),
  unknown_item: row(
    404,
    'This item was not found.',
    'an item that the request names is not stored, or belongs to another key',
    { codeless: true },
  ),
  thread_unsupported_request: row(
    400,
    'This server keeps no threads.',
    'a Messages request has a `thread`, and this server stores nothing: send the whole conversation without it',
  ),
  endpoint_not_supported: row(
    404,
    'This endpoint is not supported.',
    'the API is not supported (embeddings and transcriptions without a second provider, other audio; images without the relay)',
  ),
  unknown_url: row(404, 'Unknown request URL.', 'the route does not exist'),
  method_not_allowed: row(
    405,
    'Not allowed to use this method on this URL.',
    'the route exists, but not with this method',
  ),
  websocket_not_supported: row(
    426,
    'There is no WebSocket at this URL: send the request over HTTP. WebSockets are served at /v1/responses, unless this server turns them off.',
    'the client asks for a WebSocket at another path, or `PROXY_MAX_WEBSOCKETS` is 0; codex then continues over HTTP',
  ),
  origin_not_allowed: row(
    403,
    'Pages of this origin may not open a WebSocket here.',
    'a web page asks for a WebSocket, and its origin is not in `PROXY_CORS_ALLOWED_ORIGINS`, or a page of another origin uses the session of the console',
  ),
  sign_in_limit_exceeded: row(
    429,
    'Too many attempts to sign in. Please try again later.',
    'about ten wrong keys within a minute at the sign-in of the console',
  ),
  request_timeout: row(
    408,
    'The request did not arrive in time. Please send it again.',
    'no part of the request body arrived for PROXY_UPLOAD_IDLE_TIMEOUT_MS, or less than 1024 bytes per second, or the whole request took too long to arrive',
  ),
  response_not_steerable: row(
    409,
    'This response cannot be steered now: the model has not started to answer, is calling a tool, or has finished.',
    'steering a response before its answer has started, while the model calls a tool of the client, or when it is about to end',
  ),
  request_too_large: row(
    413,
    'The request body is too large.',
    'the body is larger than PROXY_MAX_BODY_BYTES',
  ),
  mcp_server_unavailable: row(
    424,
    'An MCP server could not be used.',
    'an MCP server of the request did not start, could not be reached, or did not list its tools; the message names the server and the reason',
    { type: 'external_connector_error' },
  ),
  headers_too_large: row(
    431,
    'The headers of the request are too large.',
    'the headers exceed 16 KB in total',
  ),
  rate_limit_exceeded: row(429, 'Rate limit reached. Please try again later.', 'the backend answered 429'),
  concurrency_limit: row(
    429,
    'Too many concurrent requests from this key. Please try again later.',
    'the queue for turns is full, and the key has more than its fair share of running and waiting turns',
  ),
  // A retry after a short wait does not help.
  insufficient_quota: row(
    429,
    'The account that this server uses has reached its usage limit.',
    'the account that this server uses has reached its usage limit; `retry-after` says when it resets, if known',
    { type: 'insufficient_quota', final: true },
  ),
  client_too_slow: row(
    500,
    'The client did not read the answer fast enough.',
    'the unread part of an answer exceeded its buffer',
  ),
  server_error: row(
    500,
    'The server had an error while processing your request.',
    'an unexpected error in this server or in the app-server',
  ),
  // Reading the same row again has the same result.
  store_corrupt: row(
    500,
    'A stored row cannot be read.',
    'a row of the database is damaged, or was encrypted with a key that is not in PROXY_STORE_KEY; the message names the row',
    { final: true },
  ),
  upstream_error: row(
    502,
    'The upstream had an error while processing the request.',
    'the backend answered 5xx, cut the answer off, or does not have the path',
  ),
  // Clients retry 5xx automatically, which would cost the same again.
  model_request_limit_exceeded: row(
    400,
    'The answer needed too many model requests.',
    'an answer reached `PROXY_MAX_MODEL_REQUESTS` before the model produced anything; otherwise the answer is incomplete, `incomplete_details.reason` is `max_model_requests`, and in Chat `finish_reason` is `length`',
  ),
  // A retry would take just as long.
  too_many_output_items: row(
    502,
    'The answer of the upstream has too many output items.',
    'the backend sent more output items in one answer than this server accepts',
    { final: true },
  ),
  // Nor would it be shorter.
  answer_too_large: row(
    502,
    'The answer of the upstream is too large: at most 32 MB are accepted.',
    'the backend wrote more than 32 MB of text, calls and other items in one answer; what was streamed before is not lost',
    { final: true },
  ),
  // This server has already retried.
  tool_choice_not_satisfied: row(
    502,
    "The model did not make the tool call that 'tool_choice' requires, in two attempts.",
    'two answers of the model lack the tool call that `tool_choice` forces',
    { final: true },
  ),
  // A retry would cost the same and most likely have the same result.
  image_not_generated: row(
    502,
    'The model answered without an image.',
    'the model answered an image request with text only; the message quotes it',
    { final: true },
  ),
  upstream_unauthorized: row(
    502,
    'The upstream rejected the credentials of this server. Its operator has to sign in again, or to check PROXY_UPSTREAM_API_KEY.',
    "the backend answered 401: the credentials are this server's, not the caller's",
    { final: true },
  ),
  upstream_blocked: row(
    502,
    'Cloudflare, in front of the upstream, blocked the request with a page for browsers. On the server, try PROXY_WIRE=off or another network; its command `doctor` shows details.',
    'Cloudflare answered in place of the backend, with a page for browsers',
  ),
  upstream_unreachable: row(
    502,
    'The upstream could not be reached.',
    'no connection to the backend; the message names its host and the reason',
  ),
  worker_lost: row(
    502,
    'The app-server stopped while it was answering.',
    'the app-server process died during an answer',
  ),
  upstream_timeout: row(
    504,
    'The upstream did not answer in time.',
    'the backend sent nothing for PROXY_UPSTREAM_IDLE_TIMEOUT_MS, before or during its answer, or an intermediary reported a timeout (408, 504, 524)',
  ),
  turn_timeout: row(
    504,
    'The answer took longer than this server allows (PROXY_TURN_TIMEOUT_MS).',
    'the answer was not finished within PROXY_TURN_TIMEOUT_MS',
  ),
  server_overloaded: row(
    503,
    'The server has too many requests. Please try again later.',
    'the queue for turns is full, the wait in it was too long, or the request bodies in progress are too large in total; see [overload](operating.md#overload)',
  ),
  worker_unavailable: row(
    503,
    'No app-server is ready. Please try again shortly.',
    'the app-server is starting, is overloaded, or cannot be started, for example because the disk is full; the message gives the reason if it is known',
  ),
  out_of_resources: row(
    503,
    'This server cannot accept another connection right now. Please try again shortly.',
    'the process has run out of file descriptors or memory for connections (`EMFILE`), or clients hold half of its file descriptors: raise its limits',
  ),
  // Only the operator can help.
  codex_incompatible: row(
    503,
    'The codex of this server does not fit. Its operator has to install another version; the command `doctor` of this server says which.',
    'the codex of this server cannot load the configuration that this server writes, or the backend requires a newer codex for the model; see [codex versions](operating.md#codex-versions)',
    { final: true },
  ),
  shutting_down: row(503, 'The server is shutting down.', 'after SIGTERM, until the process ends'),
  sign_in_required: row(
    503,
    'This server has no backend: it is not signed in. On the server, run `npm run login` (its start-up message shows the command), or set PROXY_UPSTREAM_BASE_URL.',
    'no usable login, no upstream, and no demo model',
    { final: true },
  ),
  account_unavailable: row(
    503,
    'The account that this server uses is unavailable: its workspace settings could not be loaded. Please try again shortly.',
    'the workspace settings of the account could not be loaded, or the workspace is closed',
  ),
  store_unavailable: row(
    503,
    'The database of this server is unavailable. Please try again shortly.',
    'the database does not answer within PROXY_STORE_TIMEOUT_MS, cannot be reached or written, or has too many operations waiting; the message gives the reason',
  ),
  upstream_overloaded: row(
    503,
    'The upstream is overloaded. Please try again shortly.',
    'the backend reports that it has no capacity',
  ),
} as const satisfies Record<string, CatalogueEntry>;

export type FailureCode = keyof typeof FAILURES;

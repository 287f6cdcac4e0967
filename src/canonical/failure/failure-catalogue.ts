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
    when: 'a parameter that must be there is not',
  },
  unsupported_parameter: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported parameter.',
    when: 'a parameter that cannot be honoured here (strict mode: also one that would be ignored)',
  },
  unsupported_value: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported value.',
    when: 'a value that OpenAI allows and this server cannot serve',
  },
  unsupported_tool: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported tool.',
    when: 'a tool type that is not served',
  },
  unsupported_file: {
    status: 400,
    type: TYPES.invalid,
    message: 'Unsupported file.',
    when: 'a file that is not text, where the backend takes no files',
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
    when: 'the body is not the `multipart/form-data` that it is called, or has too many parts',
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
    when: 'image data that is no PNG, JPEG, GIF or WebP, or could not be fetched',
  },
  invalid_prompt: {
    status: 400,
    type: TYPES.invalid,
    message: 'The upstream rejected the request.',
    when: 'the app-server or the backend refused the request without a code of its own',
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
    message: 'The request was blocked by a usage policy of the upstream.',
    when: "the backend blocked the request for policy reasons; the code is the backend's own where it has one",
  },
  moderation_blocked: {
    status: 400,
    type: TYPES.image,
    message: 'The request for an image was rejected by the safety system of the upstream.',
    when: 'the backend would not draw an image, or the model refused to ask for it',
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
    when: 'the backend does not know the model, or not for this account',
  },
  response_not_found: {
    status: 404,
    type: TYPES.invalid,
    message: 'No response with this id is running here.',
    when: 'a response is to be steered that is unknown, has ended, or belongs to another key; responses are not stored here',
  },
  endpoint_not_supported: {
    status: 404,
    type: TYPES.invalid,
    message: 'This endpoint is not supported here.',
    when: "an API that is not served (embeddings, audio, Anthropic's messages; images without the relay)",
  },
  unknown_url: {
    status: 404,
    type: TYPES.invalid,
    message: 'Unknown request URL.',
    when: 'no such route',
  },
  method_not_allowed: {
    status: 405,
    type: TYPES.invalid,
    message: 'Not allowed to use this method on this URL.',
    when: 'the route exists, the method does not',
  },
  websocket_not_supported: {
    status: 426,
    type: TYPES.invalid,
    message: 'There are no WebSockets here: send the request over HTTP.',
    when: 'a client wants a WebSocket; codex then goes on over HTTP',
  },
  request_timeout: {
    status: 408,
    type: TYPES.invalid,
    message: 'The request did not arrive in time. Please send it again.',
    when: 'nothing came of the request body for PROXY_UPLOAD_IDLE_TIMEOUT_MS, or less than 1024 bytes per second in that time, or the whole request took too long to arrive',
  },
  response_not_steerable: {
    status: 409,
    type: TYPES.invalid,
    message:
      'This response cannot be steered now: the model has not begun to answer, calls a tool, or is done.',
    when: 'a response is to be steered before its answer has begun, while the model calls a tool of the client, or when it is about to end',
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
    when: 'an MCP server of the request did not start, could not be reached, or did not say which tools it has; the message names it and the reason',
  },
  headers_too_large: {
    status: 431,
    type: TYPES.invalid,
    message: 'The headers of the request are too large.',
    when: 'the headers are larger than 16 KB together',
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
    message: 'Too many requests of this key at once: others wait for their share. Please try again later.',
    when: 'the line for turns is full, and the key has more than its share of what runs and waits',
  },
  insufficient_quota: {
    status: 429,
    type: TYPES.quota,
    message: 'The account behind this server has used up what it may use at its backend.',
    when: 'the usage limit of the account behind this server is reached; `retry-after` says until when, where that is known',
    // A retry after a short wait does not help.
    final: true,
  },
  client_too_slow: {
    status: 500,
    type: TYPES.server,
    message: 'The client did not read the answer fast enough.',
    when: 'the unread part of an answer outgrew its buffer',
  },
  server_error: {
    status: 500,
    type: TYPES.server,
    message: 'The server had an error while processing your request.',
    when: 'something unexpected happened here or in the app-server',
  },
  upstream_error: {
    status: 502,
    type: TYPES.server,
    message: 'The upstream had an error while processing the request.',
    when: 'the backend answered 5xx, cut the answer off, or has no such path',
  },
  ...ANSWER_FAILURES,
  upstream_unauthorized: {
    status: 502,
    type: TYPES.server,
    message:
      'The upstream refused the credentials of this server. Whoever runs it has to sign in again there, or check PROXY_UPSTREAM_API_KEY.',
    when: "the backend answered 401: the credentials are this server's, not the caller's",
    final: true,
  },
  upstream_blocked: {
    status: 502,
    type: TYPES.server,
    message:
      'Cloudflare, in front of the upstream, answered this server with a page for browsers instead of passing the request on. On the server, PROXY_WIRE=off or another network may help; its command `doctor` shows more.',
    when: 'a page of Cloudflare stood in the way to the backend',
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
    when: 'the app-server process died in the middle of an answer',
  },
  upstream_timeout: {
    status: 504,
    type: TYPES.server,
    message: 'The upstream did not answer in time.',
    when: 'the backend was silent for longer than PROXY_UPSTREAM_IDLE_TIMEOUT_MS, before its answer or in the middle of it, or something in front of it said so (408, 504, 524)',
  },
  turn_timeout: {
    status: 504,
    type: TYPES.server,
    message: 'The answer took longer than this server allows.',
    when: 'the answer was not finished within PROXY_TURN_TIMEOUT_MS',
  },
  server_overloaded: {
    status: 503,
    type: TYPES.server,
    message: 'The server has more requests than it can take. Please try again later.',
    when: 'the line for turns is full, or the wait in it was too long, or the bodies in work are too large together; a body may also give way to one of a key that has less',
  },
  worker_unavailable: {
    status: 503,
    type: TYPES.server,
    message: 'No app-server is ready. Please try again shortly.',
    when: 'the app-server is starting, overloaded or cannot be started, for example because the disk is full, which the message says then',
  },
  out_of_resources: {
    status: 503,
    type: TYPES.server,
    message: 'This server has no room for another connection right now. Please try again shortly.',
    when: 'the process has run out of open files or memory for connections (`EMFILE`), or clients hold half of its open files: raise its limits',
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
      'This server has no backend: nobody is signed in. On the server, run `npm run login` (its start-up message shows the command), or set PROXY_UPSTREAM_BASE_URL.',
    when: 'no usable login, no upstream, and no demo model',
    final: true,
  },
  account_unavailable: {
    status: 503,
    type: TYPES.server,
    message:
      'The account behind this server cannot be used right now: the settings of its workspace could not be loaded. They are asked for again.',
    when: "the configuration of the account's workspace could not be loaded, or the workspace is closed",
  },
  upstream_overloaded: {
    status: 503,
    type: TYPES.server,
    message: 'The upstream is overloaded. Please try again shortly.',
    when: 'the backend says that it has no capacity',
  },
} as const satisfies Record<string, CatalogueEntry>;

export type FailureCode = keyof typeof FAILURES;

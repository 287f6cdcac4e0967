import type { SettingRow } from './setting-row.ts';
import {
  hostName,
  MAX_TIMER_MS,
  modelName,
  oneOf,
  perModel,
  secretList,
  wholeNumber,
  yesOrNo,
} from './value.ts';

/** What clients meet: the server, its limits, and how requests and answers are shaped. */
export const CLIENT_SETTINGS = {
  PORT: {
    slice: 'http',
    field: 'port',
    type: wholeNumber(0, 65_535),
    default: '11435',
    description: 'The TCP port to listen on; 0 takes a free one.',
  },
  PROXY_HOST: {
    slice: 'http',
    field: 'host',
    type: hostName,
    default: '127.0.0.1',
    description: 'The address to listen on; 0.0.0.0 opens the server to the network.',
  },
  PROXY_API_KEY: {
    slice: 'http',
    field: 'apiKeys',
    type: secretList,
    default: '',
    defaultInDocs: 'a key made at the first start, in `PROXY_STATE_DIR/api-key`',
    secret: true,
    description: 'The keys that clients may use, separated by commas.',
  },
  PROXY_MAX_BODY_BYTES: {
    slice: 'http',
    field: 'maxBodyBytes',
    type: wholeNumber(1, 500_000_000),
    default: '33554432',
    unit: 'bytes',
    description: 'The largest request body; a larger one is answered with 413.',
  },
  PROXY_UPLOAD_IDLE_TIMEOUT_MS: {
    slice: 'http',
    field: 'uploadIdleTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS),
    default: '30000',
    unit: 'ms',
    description:
      'How long a client may send nothing while its request body is read, or less than 1024 bytes per second; then it gets 408 and the connection is closed.',
  },
  PROXY_SSE_KEEPALIVE_MS: {
    slice: 'http',
    field: 'sseKeepaliveMs',
    type: wholeNumber(1, MAX_TIMER_MS),
    default: '15000',
    unit: 'ms',
    description: 'How long a stream may be silent before a keepalive comment is sent.',
  },
  PROXY_DRAIN_TIMEOUT_MS: {
    slice: 'http',
    field: 'drainTimeoutMs',
    type: wholeNumber(0, MAX_TIMER_MS),
    default: '30000',
    unit: 'ms',
    description: 'How long running answers may take to finish after SIGTERM before they are interrupted.',
  },
  PROXY_MAX_CONCURRENT_TURNS: {
    slice: 'load',
    field: 'maxConcurrentTurns',
    type: wholeNumber(1, 100_000),
    default: '256',
    unit: 'turns',
    description: 'How many turns run at once; each of the `n` choices of a request is one.',
  },
  PROXY_MAX_QUEUED_TURNS: {
    slice: 'load',
    field: 'maxQueuedTurns',
    type: wholeNumber(0, 1_000_000),
    default: '1024',
    unit: 'turns',
    description:
      'How many turns wait for others to end, fairly between keys; the rest is answered with 429 or 503 at once.',
  },
  PROXY_MAX_MODEL_REQUESTS: {
    slice: 'load',
    field: 'maxModelRequests',
    type: wholeNumber(1, 100_000),
    default: '64',
    unit: 'requests',
    description:
      'How many model requests one answer may cost, each of the `n` choices for itself: calls of MCP tools, retries, repairs and forced calls together. Then the answer is incomplete, or fails with `model_request_limit_exceeded`.',
  },
  PROXY_QUEUE_TIMEOUT_MS: {
    slice: 'load',
    field: 'queueTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS),
    default: '30000',
    unit: 'ms',
    description: 'How long a request waits before it is answered with 503.',
  },
  PROXY_MAX_BYTES_IN_FLIGHT_MB: {
    slice: 'load',
    field: 'maxBytesInFlightMb',
    type: wholeNumber(1, 1_000_000),
    default: '256',
    unit: 'MB',
    description:
      'How large the bodies of all requests in work are together, and how much of all answers may be unread; other bodies wait, and are then answered with 503.',
  },
  PROXY_STRICT_PARAMS: {
    slice: 'api',
    field: 'strictParams',
    type: yesOrNo,
    default: 'false',
    description: 'Whether a parameter that would be ignored is answered with 400 instead.',
  },
  PROXY_INSTRUCTIONS_TARGET: {
    slice: 'api',
    field: 'instructionsTarget',
    type: oneOf(['base', 'developer']),
    default: 'base',
    description:
      "Whether a client's instructions stand in the backend's field for them (`base`), or they and all its prompts become one developer message in front (`developer`).",
  },
  PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: {
    slice: 'api',
    field: 'ignoreClientSystemPrompt',
    type: yesOrNo,
    default: 'false',
    description: "Whether a client's instructions, system and developer messages are left out.",
  },
  PROXY_RESPONSES_LAYOUT: {
    slice: 'api',
    field: 'responsesLayout',
    type: oneOf(['message-first', 'natural']),
    default: 'natural',
    description:
      "How the items of a response are arranged. `natural`: the model's own items in its own order, as OpenAI does. `message-first`: all text in one message at `output[0]`, tool call k at `output[1 + k]`, no reasoning. The header `x-proxy-output-layout` decides for one request.",
  },
  PROXY_ITEM_MEMORY_MB: {
    slice: 'api',
    field: 'itemMemoryMb',
    type: wholeNumber(0, 1_000_000),
    default: '64',
    unit: 'MB',
    description:
      'How many items of responses are kept, in memory and for an hour, so that the next request may refer to them by `item_reference`; 0: none. Items of requests with `store: false` are never kept.',
  },
  PROXY_CHAT_REASONING: {
    slice: 'api',
    field: 'chatReasoning',
    type: yesOrNo,
    default: 'true',
    description: 'Whether chat answers carry the reasoning summary, as `reasoning_content` and `reasoning`.',
  },
  PROXY_TOOL_TRANSPORT: {
    slice: 'api',
    field: 'toolTransport',
    type: perModel(['native', 'prose']),
    default: 'native',
    description:
      "How the backend is told of a client's tools: declared (`native`), or, for models that take no declarations, explained in a developer message (`prose`); the model then writes its calls as `<tool_call>` blocks, which clients see as calls. By the names that models have at the backend: `llama-*=prose,mistral-*=prose`; the first pattern that fits counts, and other models are `native`. Tools that the backend runs itself are declared in any case.",
  },
  PROXY_RESPONSES_OMIT_TOOL_MANIFEST: {
    slice: 'api',
    field: 'omitToolManifest',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether the tools of `/v1/responses` requests are kept from the backend, for deployments whose model is not to call any; `tools` is then named as ignored. Where the transport is `prose` it changes nothing: there the definitions stand in the developer message only.',
  },
  PROXY_USAGE_POLICY: {
    slice: 'api',
    field: 'usagePolicy',
    type: oneOf(['exact', 'zeros']),
    default: 'exact',
    description: 'What `usage` is when the upstream gave no numbers: left out, or zeros.',
  },
  PROXY_IMAGE_URLS: {
    slice: 'images',
    field: 'urls',
    type: oneOf(['auto', 'fetch']),
    default: 'auto',
    description:
      'What becomes of images given by an http or https URL. `auto`: a provider gets the URL as the client wrote it; for a ChatGPT login, and without the relay, this server fetches the image. `fetch`: this server always does, for a provider that cannot.',
  },
  PROXY_IMAGE_FETCH: {
    slice: 'images',
    field: 'fetchEnabled',
    type: yesOrNo,
    default: 'true',
    description: 'Whether this server may fetch images given by an http or https URL.',
  },
  PROXY_IMAGE_FETCH_PRIVATE: {
    slice: 'images',
    field: 'fetchPrivate',
    type: yesOrNo,
    default: 'false',
    description: 'Whether such a URL may lead to a private, loopback or link-local address.',
  },
  PROXY_IMAGE_MODEL: {
    slice: 'images',
    field: 'chatModel',
    type: modelName,
    default: 'codex-5',
    description:
      'The chat model that runs the image tool for `/v1/images/…`, a name as in `/v1/models`; it thinks as little as `low` unless the name says an effort.',
  },
} as const satisfies Record<string, SettingRow>;

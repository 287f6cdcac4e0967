import { deployment, documents, everyday, tuning } from './setting-row.ts';
import {
  addressList,
  hostName,
  MAX_TIMER_MS,
  oneOf,
  originList,
  secretList,
  wholeNumber,
  yesOrNo,
  aliasMap,
  modelName,
} from './value.ts';

/** The client side: the HTTP server, its limits, and the form of requests and answers. */
export const CLIENT_SETTINGS = {
  PORT: everyday({
    at: 'http.port',
    type: wholeNumber(0, 65_535),
    default: '11435',
    description: 'The TCP port to listen on. 0: any free port.',
  }),
  PROXY_HOST: deployment({
    at: 'http.host',
    type: hostName,
    default: '127.0.0.1',
    description: 'The address to listen on. `0.0.0.0` opens the server to the network.',
  }),
  PROXY_API_KEY: everyday({
    at: 'http.apiKeys',
    type: secretList,
    default: '',
    defaultInDocs: 'a key made at the first start, in `PROXY_STATE_DIR/api-key`',
    secret: true,
    description: 'The keys that clients may use.',
  }),
  PROXY_CORS_ALLOWED_ORIGINS: deployment({
    at: 'http.corsAllowedOrigins',
    type: originList,
    default:
      'app://obsidian.md,capacitor://localhost,http://localhost,http://localhost:*,http://127.0.0.1:*,http://[::1]:*',
    description:
      'The origins whose pages may call this server from a browser. `*` alone allows every page; `*` as a port allows any port.',
  }),
  PROXY_TRUSTED_PROXIES: deployment({
    at: 'http.trustedProxies',
    type: addressList,
    default: '',
    defaultInDocs: 'none',
    description:
      'The addresses of reverse proxies in front of this server, which say the address of a client; see [keys](keys.md#addresses).',
  }),
  PROXY_MAX_BODY_BYTES: tuning({
    at: 'http.maxBodyBytes',
    type: wholeNumber(1, 500_000_000, 'bytes'),
    default: '33554432',
    description:
      'The largest request body; a larger one gets 413. Items that a request refers to (`item_reference`) may together be as large.',
  }),
  PROXY_UPLOAD_IDLE_TIMEOUT_MS: tuning({
    at: 'http.uploadIdleTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS, 'ms'),
    default: '30000',
    description:
      'How long a client may send nothing, or less than 1,024 bytes per second, while the server reads its body. Then it gets 408 and the connection is closed.',
  }),
  PROXY_SSE_KEEPALIVE_MS: tuning({
    at: 'http.sseKeepaliveMs',
    type: wholeNumber(1, MAX_TIMER_MS, 'ms'),
    default: '15000',
    description:
      'How long a stream may be silent before a keepalive comment is sent. Lower it if a proxy in between closes idle connections earlier.',
  }),
  PROXY_DRAIN_TIMEOUT_MS: deployment({
    at: 'http.drainTimeoutMs',
    type: wholeNumber(0, MAX_TIMER_MS, 'ms'),
    default: '30000',
    description: 'How long running answers may take to finish after SIGTERM before they are interrupted.',
  }),
  PROXY_MAX_CONCURRENT_TURNS: tuning({
    at: 'load.maxConcurrentTurns',
    type: wholeNumber(1, 100_000, 'turns'),
    default: '256',
    description:
      'How many turns run at the same time; the last slot is for keys with the scope `admin`. Each of the `n` choices of a request is one turn.',
  }),
  PROXY_MAX_QUEUED_TURNS: tuning({
    at: 'load.maxQueuedTurns',
    type: wholeNumber(0, 1_000_000, 'turns'),
    default: '1024',
    description:
      'How many turns wait for a free place, fairly between keys. Further ones get 429 or 503 at once.',
  }),
  PROXY_MAX_MODEL_REQUESTS: tuning({
    at: 'load.maxModelRequests',
    type: wholeNumber(1, 100_000, 'requests'),
    default: '64',
    description:
      'How many model requests one answer may need, counted separately for each of the `n` choices: MCP calls, retries, repairs and forced calls together. Then the answer is incomplete, or fails with `model_request_limit_exceeded`.',
  }),
  PROXY_QUEUE_TIMEOUT_MS: tuning({
    at: 'load.queueTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS, 'ms'),
    default: '30000',
    description: 'How long a request waits for a free place before it gets 503.',
  }),
  PROXY_MAX_BYTES_IN_FLIGHT_MB: tuning({
    at: 'load.maxBytesInFlightMb',
    type: wholeNumber(1, 1_000_000, 'MB'),
    default: '256',
    description:
      'The total size of all request bodies in work, and separately of all unread answer text. Further bodies wait, then get 503.',
  }),
  PROXY_STRICT_PARAMS: deployment({
    at: 'api.strictParams',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether a parameter without effect gets a 400 instead of being ignored and listed in a header.',
  }),
  PROXY_INSTRUCTIONS_TARGET: documents({
    at: 'api.instructionsTarget',
    type: oneOf(['base', 'developer']),
    default: 'base',
    description:
      "Where a client's instructions go: into the backend's own field (`base`), or together with all prompts into one developer message at the beginning (`developer`).",
  }),
  PROXY_IGNORE_CLIENT_SYSTEM_PROMPT: documents({
    at: 'api.ignoreClientSystemPrompt',
    type: yesOrNo,
    default: 'false',
    description: "Whether a client's instructions, system messages and developer messages are dropped.",
  }),
  PROXY_RESPONSES_LAYOUT: documents({
    at: 'api.responsesLayout',
    type: oneOf(['message-first', 'natural']),
    default: 'natural',
    description:
      'The [order of the output](http-api.md#order-of-the-output), unless the header `x-proxy-output-layout` chooses it.',
  }),
  PROXY_CHAT_REASONING: documents({
    at: 'api.chatReasoning',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether chat answers contain the reasoning summary, or the raw reasoning of models that show it, as `reasoning_content` and `reasoning`.',
  }),
  PROXY_USAGE_POLICY: documents({
    at: 'api.usagePolicy',
    type: oneOf(['exact', 'zeros']),
    default: 'exact',
    description: 'What `usage` is when the backend sent no numbers: left out (`exact`) or zeros (`zeros`).',
  }),
};

/** What certain clients need: output modes, titles of conversations, names of models. */
export const FAMILY_SETTINGS = {
  PROXY_MODEL_ALIASES: everyday({
    at: 'clients.modelAliases',
    type: aliasMap,
    default: '{}',
    description:
      'Your own names for models: `{"house-model": "gpt-5.5-high"}`. See [models](http-api.md#models).',
  }),
  PROXY_OUTPUT_MODE: documents({
    at: 'clients.outputMode',
    type: oneOf(['openai-json', 'obsidian-xml']),
    default: 'openai-json',
    description:
      'How tool calls appear: as normal calls (`openai-json`), or also as `<use_tool>` blocks in the text (`obsidian-xml`). The header `x-proxy-output-mode` and a recognised client win.',
  }),
  PROXY_RESPONSES_OUTPUT_MODE: documents({
    at: 'clients.responsesOutputMode',
    type: oneOf(['openai-json', 'obsidian-xml']),
    defaultInDocs: 'as `PROXY_OUTPUT_MODE`',
    description: 'The same for `/v1/responses` only.',
  }),
  PROXY_STOP_AFTER_TOOLS: documents({
    at: 'clients.stopAfterTools',
    type: oneOf(['first', 'burst']),
    description:
      'In `obsidian-xml`: whether an answer ends after its first call (`first`), or after calls that follow each other within the grace time (`burst`). If not set, it ends when the model ends it.',
  }),
  PROXY_STOP_AFTER_TOOLS_GRACE_MS: documents({
    at: 'clients.stopGraceMs',
    type: wholeNumber(0, 60_000, 'ms'),
    default: '300',
    description: 'How long `burst` waits for another call.',
  }),
  PROXY_SUPPRESS_TAIL_AFTER_TOOLS: documents({
    at: 'clients.suppressTail',
    type: yesOrNo,
    default: 'false',
    description: 'In `obsidian-xml`: whether text that the model writes after its first call is left out.',
  }),
  PROXY_TOOL_BLOCK_MAX: documents({
    at: 'clients.toolBlockMax',
    type: wholeNumber(0, 10_000, 'blocks'),
    default: '0',
    description: 'In `obsidian-xml`: how many `<use_tool>` blocks an answer may contain. 0: any number.',
  }),
  PROXY_TITLE_INTERCEPT: deployment({
    at: 'clients.titleIntercept',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether a small model at low effort answers the requests by which Obsidian Copilot and opencode name a conversation.',
  }),
  PROXY_TITLE_MODEL: deployment({
    at: 'clients.titleModel',
    type: modelName,
    defaultInDocs: 'the smallest listed model',
    description: 'The model for such titles, as named in `/v1/models`.',
  }),
};

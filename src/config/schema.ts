import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  baseUrl,
  directory,
  hostName,
  MAX_TIMER_MS,
  oneOf,
  paramList,
  secret,
  secretList,
  wholeNumber,
  yesOrNo,
} from './value.ts';
import type { ValueType } from './value.ts';

/** The slices of the configuration, in the order of the docs. */
export const SLICES = {
  http: 'HTTP server',
  load: 'How much at once',
  upstream: 'Backend',
  state: 'Files of this server',
  api: 'How requests and answers are shaped',
  images: 'Images given by URL',
  codex: 'What codex may do',
  worker: 'App-server processes',
  log: 'Logs',
} as const;

type Slice = keyof typeof SLICES;

interface Row {
  /** Where the value is found: `config[slice][field]`. The field names its unit. */
  readonly slice: Slice;
  readonly field: string;
  readonly type: ValueType<unknown>;
  /** As it would be written in the environment; null: the value is null when the key is not set. */
  readonly default: string | null;
  /** For a default that depends on the machine: what the docs say. */
  readonly defaultInDocs?: string;
  readonly unit?: string;
  readonly secret?: true;
  readonly description: string;
}

/** Every setting there is. `Config`, the loader and docs/configuration.md are made from this table. */
export const SETTINGS = {
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
      'How long a client may stand still while its request body is read; then it gets 408 and the connection is closed.',
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
  PROXY_UPSTREAM_BASE_URL: {
    slice: 'upstream',
    field: 'baseUrl',
    type: baseUrl,
    default: null,
    description: 'The base URL of a provider with a Responses API; it goes before the Codex login.',
  },
  PROXY_UPSTREAM_API_KEY: {
    slice: 'upstream',
    field: 'apiKey',
    type: secret,
    default: null,
    secret: true,
    description:
      'The key for that provider. The relay sets it; without the relay codex gets it by environment. It is never written to a file.',
  },
  CODEX_HOME: {
    slice: 'upstream',
    field: 'codexHome',
    type: directory,
    default: null,
    description: 'A codex home whose login is used; `~/.codex` is not touched unless it is named here.',
  },
  PROXY_DEMO: {
    slice: 'upstream',
    field: 'demoEnabled',
    type: yesOrNo,
    default: 'true',
    description: 'Whether the scripted demo model answers when there is neither a provider nor a login.',
  },
  PROXY_WIRE: {
    slice: 'upstream',
    field: 'wire',
    type: oneOf(['on', 'off']),
    default: 'on',
    description:
      'Whether the relay stands between the app-server and its backend, and sets what the app-server has no field for.',
  },
  PROXY_UPSTREAM_PARAMS: {
    slice: 'upstream',
    field: 'params',
    type: paramList,
    default: null,
    description:
      'The parameters that the backend takes, such as `temperature,top_p`, or `all`, or `none`; by default they are known or found out.',
  },
  PROXY_UPSTREAM_IDLE_TIMEOUT_MS: {
    slice: 'upstream',
    field: 'idleTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS),
    default: '300000',
    unit: 'ms',
    description:
      'How long the backend may be silent: until its answer begins, and between two events of it. Keepalives do not count.',
  },
  PROXY_TURN_TIMEOUT_MS: {
    slice: 'upstream',
    field: 'turnTimeoutMs',
    type: wholeNumber(0, MAX_TIMER_MS),
    default: '0',
    unit: 'ms',
    description: 'How long a whole answer may take; 0: as long as it takes.',
  },
  PROXY_CHATGPT_BASE_URL: {
    slice: 'upstream',
    field: 'chatgptBaseUrl',
    type: baseUrl,
    default: 'https://chatgpt.com/backend-api',
    description: 'Where the backend of a ChatGPT login is, for networks that reach it at another address.',
  },
  PROXY_CHATGPT_LANE: {
    slice: 'upstream',
    field: 'chatgptLane',
    type: oneOf(['auto', 'full', 'lite']),
    default: 'auto',
    description:
      "Which form requests of a ChatGPT login have: codex's own for the model (`lite` for newer ones), unless the request needs what that form cannot say; or always the plain one (`full`); or never (`lite`).",
  },
  PROXY_STATE_DIR: {
    slice: 'state',
    field: 'dir',
    type: directory,
    default: '~/.codex-app-server-proxy',
    description: 'Where the key, the login and the data of this server are kept.',
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
    default: 'message-first',
    description:
      "Whether a message is always `output[0]`, or items keep the model's own order. Answers that show reasoning always keep it.",
  },
  PROXY_CHAT_REASONING: {
    slice: 'api',
    field: 'chatReasoning',
    type: yesOrNo,
    default: 'true',
    description: 'Whether chat answers carry the reasoning summary, as `reasoning_content`.',
  },
  PROXY_USAGE_POLICY: {
    slice: 'api',
    field: 'usagePolicy',
    type: oneOf(['exact', 'zeros']),
    default: 'exact',
    description: 'What `usage` is when the upstream gave no numbers: left out, or zeros.',
  },
  PROXY_IMAGE_FETCH: {
    slice: 'images',
    field: 'fetchEnabled',
    type: yesOrNo,
    default: 'true',
    description: 'Whether images given by an http or https URL are fetched.',
  },
  PROXY_IMAGE_FETCH_PRIVATE: {
    slice: 'images',
    field: 'fetchPrivate',
    type: yesOrNo,
    default: 'false',
    description: 'Whether such a URL may lead to a private, loopback or link-local address.',
  },
  PROXY_SANDBOX_MODE: {
    slice: 'codex',
    field: 'sandboxMode',
    type: oneOf(['read-only', 'workspace-write', 'danger-full-access']),
    default: 'read-only',
    description: "What codex's own tools may write to, where they are on.",
  },
  PROXY_APPROVAL_POLICY: {
    slice: 'codex',
    field: 'approvalPolicy',
    type: oneOf(['never', 'on-request', 'untrusted']),
    default: 'never',
    description: 'When codex asks before it runs a tool of its own.',
  },
  PROXY_CODEX_WORKDIR: {
    slice: 'codex',
    field: 'workDir',
    type: directory,
    default: process.platform === 'win32' ? join(tmpdir(), 'codex-work') : '/tmp/codex-work',
    defaultInDocs: '`/tmp/codex-work` (on Windows `codex-work` in the temporary directory)',
    description: 'The working directory that codex is told.',
  },
  PROXY_WORKERS: {
    slice: 'worker',
    field: 'count',
    type: wholeNumber(1, 64),
    default: '1',
    unit: 'processes',
    description: 'How many app-servers share the requests.',
  },
  PROXY_WORKER_HANG_TIMEOUT_MS: {
    slice: 'worker',
    field: 'hangTimeoutMs',
    type: wholeNumber(1_000, MAX_TIMER_MS),
    default: '10000',
    unit: 'ms',
    description:
      'How long an app-server may leave a question unanswered, while nothing else comes from it, before it is ended and replaced.',
  },
  PROXY_WORKER_MAX_THREADS: {
    slice: 'worker',
    field: 'maxThreads',
    type: wholeNumber(1, 1_000_000),
    default: '500',
    unit: 'threads',
    description: 'How many threads that no request uses an app-server may hold before it is replaced.',
  },
  PROXY_WORKER_MAX_RSS_MB: {
    slice: 'worker',
    field: 'maxRssMb',
    type: wholeNumber(1, 1_000_000),
    default: '1024',
    unit: 'MB',
    description: 'How much memory an app-server may hold before it is replaced.',
  },
  PROXY_WORKER_MAX_HOME_MB: {
    slice: 'worker',
    field: 'maxHomeMb',
    type: wholeNumber(16, 1_000_000),
    default: '128',
    unit: 'MB',
    description:
      'How much an app-server may write to its home, mostly logs of its own, before it is replaced.',
  },
  PROXY_LOG_LEVEL: {
    slice: 'log',
    field: 'level',
    type: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
    description: 'The least important level that is logged.',
  },
  PROXY_LOG_CONTENT: {
    slice: 'log',
    field: 'content',
    type: yesOrNo,
    default: 'false',
    description: 'Whether prompts and answers are logged too.',
  },
} as const satisfies Record<string, Row>;

type Settings = typeof SETTINGS;
type SettingName = keyof Settings;
export type SettingRow = Row;

type Value<R extends Row> =
  | (R['type'] extends ValueType<infer Output> ? Output : never)
  | (R['default'] extends null ? null : never);

type RowOf<S extends Slice> = Extract<Settings[SettingName], { readonly slice: S }>;

/** The whole configuration: frozen, read once, handed on in slices. */
export type Config = {
  readonly [S in Slice]: { readonly [R in RowOf<S> as R['field']]: Value<R> };
} & {
  /** What is odd but does not stop a start, such as a misspelt key. */
  readonly warnings: readonly string[];
};

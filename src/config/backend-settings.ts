import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { SettingRow } from './setting-row.ts';
import { baseUrl, directory, MAX_TIMER_MS, oneOf, paramList, secret, wholeNumber, yesOrNo } from './value.ts';

/** The documents of the project name it. On Linux anybody may create it first. */
export const DEFAULT_WORK_DIR =
  process.platform === 'win32' ? join(tmpdir(), 'codex-work') : '/tmp/codex-work';

/** What stands behind: the backend, the app-server, files and logs. */
export const BACKEND_SETTINGS = {
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
      'The parameters that the backend takes, such as `temperature,top_p`, or `all`, or `none`; by default they are known or found out. `compaction_trigger` says that it compacts conversations itself.',
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
  PROXY_REASONING_MEMORY_MB: {
    slice: 'upstream',
    field: 'reasoningMemoryMb',
    type: wholeNumber(0, 1_000_000),
    default: '64',
    unit: 'MB',
    description:
      'How much reasoning is remembered, in memory and for an hour, so that it goes back to the model with the outputs of its tool calls when a client does not send it; 0: none.',
  },
  PROXY_STATE_DIR: {
    slice: 'state',
    field: 'dir',
    type: directory,
    default: '~/.codex-app-server-proxy',
    description: 'Where the key, the login and the data of this server are kept.',
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
    default: DEFAULT_WORK_DIR,
    defaultInDocs: '`/tmp/codex-work` (on Windows `codex-work` in the temporary directory)',
    description:
      'The working directory that codex is told. If another user owns the default or may write to it, `work` in the state directory is used instead.',
  },
  PROXY_ENABLE_FEEDBACK: {
    slice: 'codex',
    field: 'feedback',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether `POST /v1/codex/feedback` is served, which sends what a client writes to the makers of codex. Nothing is sent without such a request.',
  },
  PROXY_MCP_CONFIG: {
    slice: 'mcp',
    field: 'configFile',
    type: directory,
    default: null,
    description:
      'A JSON file with the MCP servers that requests may use, in the usual `mcpServers` form; see [MCP servers](mcp.md).',
  },
  PROXY_MCP_CLIENT_SERVERS: {
    slice: 'mcp',
    field: 'clientServers',
    type: yesOrNo,
    default: 'false',
    description: 'Whether a request may also name an MCP server by its URL, which this server then talks to.',
  },
  PROXY_MCP_CLIENT_PRIVATE: {
    slice: 'mcp',
    field: 'clientPrivate',
    type: yesOrNo,
    default: 'false',
    description: 'Whether such a URL may lead to a private, loopback or link-local address.',
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
  PROXY_LOG_FORMAT: {
    slice: 'log',
    field: 'format',
    type: oneOf(['auto', 'json', 'pretty']),
    default: 'auto',
    description:
      'How log lines look: one JSON object each (`json`), short lines for people (`pretty`), or `pretty` in a terminal and `json` elsewhere (`auto`). `NO_COLOR` removes the colours.',
  },
  PROXY_LOG_CONTENT: {
    slice: 'log',
    field: 'content',
    type: yesOrNo,
    default: 'false',
    description: 'Whether prompts and answers are logged too.',
  },
  PROXY_ENABLE_METRICS: {
    slice: 'log',
    field: 'metrics',
    type: yesOrNo,
    default: 'true',
    description: 'Whether `GET /metrics` is served, with a key, or without one from this machine itself.',
  },
  PROXY_CAPTURE_DIR: {
    slice: 'log',
    field: 'captureDir',
    type: directory,
    default: null,
    description:
      'A directory that takes the whole story of each request that runs turns, a file each, without secrets but with content. `npm run replay FILE` plays one; see [operating](operating.md#stories).',
  },
} as const satisfies Record<string, SettingRow>;

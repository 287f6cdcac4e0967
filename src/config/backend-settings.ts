import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DEFAULT_STATE_DIR } from './paths.ts';
import { deployment, documents, everyday, tuning } from './setting-row.ts';
import {
  accessToken,
  baseUrl,
  filePath,
  MAX_TIMER_MS,
  oneOf,
  paramList,
  secret,
  wholeNumber,
  yesOrNo,
} from './value.ts';

/** The requirement documents name it. On Linux any user may create it first. */
export const DEFAULT_WORK_DIR =
  process.platform === 'win32' ? join(tmpdir(), 'codex-work') : '/tmp/codex-work';

/** The backend side: the provider or login, the app-server, files and logs. */
export const BACKEND_SETTINGS = {
  PROXY_UPSTREAM_BASE_URL: everyday({
    at: 'upstream.baseUrl',
    type: baseUrl,
    description:
      'The base URL of a provider with a Responses API, such as `https://api.openai.com/v1`. If set, this provider answers and the Codex login is not used.',
  }),
  PROXY_UPSTREAM_API_KEY: everyday({
    at: 'upstream.apiKey',
    type: secret,
    secret: true,
    description:
      'The API key for that provider. The relay adds it to requests; with `PROXY_WIRE=off` codex gets it in its environment. This server never writes it to a file.',
  }),
  CODEX_HOME: everyday({
    at: 'upstream.codexHome',
    type: filePath,
    description:
      'A codex home whose login this server uses, such as `~/.codex`. If not set, the server uses its own login from `npm run login` and does not read `~/.codex`.',
  }),
  CODEX_ACCESS_TOKEN: deployment({
    at: 'upstream.accessToken',
    type: accessToken,
    secret: true,
    description:
      'An access token of a ChatGPT Business or Enterprise workspace, used in place of any other Codex login. It needs no browser and cannot be renewed. codex gets it in its environment; this server never writes it to a file.',
  }),
  PROXY_DEMO: deployment({
    at: 'upstream.demoEnabled',
    type: yesOrNo,
    default: 'true',
    description:
      'Whether the built-in demo model answers when there is neither a provider nor a login. Set `false` in production: requests then get `sign_in_required`.',
  }),
  PROXY_WIRE: documents({
    at: 'upstream.wire',
    type: oneOf(['on', 'off']),
    default: 'on',
    description:
      'Whether the relay runs between the app-server and its backend (`on`). With `off` only JSON-RPC is used, and parameters that the app-server has no field for have no effect.',
  }),
  PROXY_UPSTREAM_PARAMS: deployment({
    at: 'upstream.params',
    type: paramList,
    description:
      'The request parameters that the backend accepts, such as `temperature,top_p`, or `all`, or `none`. If not set, the server knows them or learns them from errors. Add `compaction_trigger` for a backend that compacts conversations itself, and `additional_tools` for one that takes tools in the middle of a conversation.',
  }),
  PROXY_UPSTREAM_IDLE_TIMEOUT_MS: tuning({
    at: 'upstream.idleTimeoutMs',
    type: wholeNumber(1, MAX_TIMER_MS, 'ms'),
    default: '300000',
    description:
      'How long the backend may send nothing, before its answer and between two events, until the request fails with `upstream_timeout`. Keepalives do not count as events.',
  }),
  PROXY_TURN_TIMEOUT_MS: deployment({
    at: 'upstream.turnTimeoutMs',
    type: wholeNumber(0, MAX_TIMER_MS, 'ms'),
    default: '0',
    description: 'How long a whole answer may take until it fails with `turn_timeout`. 0: no limit.',
  }),
  PROXY_CHATGPT_BASE_URL: deployment({
    at: 'upstream.chatgptBaseUrl',
    type: baseUrl,
    default: 'https://chatgpt.com/backend-api',
    description:
      'The address of the backend for a ChatGPT login. Change it only if your network reaches that backend at another address.',
  }),
  PROXY_CHATGPT_LANE: tuning({
    at: 'upstream.chatgptLane',
    type: oneOf(['auto', 'full', 'lite']),
    default: 'auto',
    description:
      "The request format for a ChatGPT login. `lite` is codex's own format for newer models, `full` is the format of the public Responses API. `auto` uses codex's own unless a request needs something that it cannot express.",
  }),
  PROXY_CHATGPT_TRANSPORT: deployment({
    at: 'upstream.chatgptTransport',
    type: oneOf(['auto', 'websocket', 'http']),
    default: 'auto',
    description:
      'How model requests reach the backend of a ChatGPT login. `auto`: over a WebSocket, as codex does, and by POST where that fails. See [transport](transport.md).',
  }),
  PROXY_CHATGPT_FIRST_EVENT_TIMEOUT_MS: tuning({
    at: 'upstream.chatgptFirstEventTimeoutMs',
    type: wholeNumber(0, MAX_TIMER_MS, 'ms'),
    default: '45000',
    description:
      'How long the backend of a ChatGPT login may take until the first output of an answer; large requests get more time. Then the request is [sent once more](transport.md#when-an-answer-does-not-begin). 0: off.',
  }),
  PROXY_REASONING_MEMORY_MB: tuning({
    at: 'upstream.reasoningMemoryMb',
    type: wholeNumber(0, 1_000_000, 'MB'),
    default: '64',
    description:
      'Memory for reasoning of recent answers. It is kept for one hour and sent back to the model with tool outputs when a client leaves it out. 0: off.',
  }),
  PROXY_STATE_DIR: everyday({
    at: 'state.dir',
    type: filePath,
    default: DEFAULT_STATE_DIR,
    description:
      'The folder for the API key, the login and the other files of this server. If it contains a `config.json`, that is the config file.',
  }),
  PROXY_CONFIG: everyday({
    at: 'state.configFile',
    type: filePath,
    defaultInDocs: '`config.json` in `PROXY_STATE_DIR`, if it exists',
    environmentOnly: true,
    description: 'A JSON file with settings; see [config file](#config-file). The environment wins.',
  }),
  PROXY_SANDBOX_MODE: documents({
    at: 'codex.sandboxMode',
    type: oneOf(['read-only', 'workspace-write', 'danger-full-access']),
    default: 'read-only',
    noEffect: "codex's own tools are off, except in workspaces, which have rules of their own",
    description:
      "The sandbox that `thread/start` asks for. It has no effect: codex's own tools are off, except in [workspaces](agents.md), which have rules of their own. The server warns at the start if it is set.",
  }),
  PROXY_APPROVAL_POLICY: documents({
    at: 'codex.approvalPolicy',
    type: oneOf(['never', 'on-request', 'untrusted']),
    default: 'never',
    noEffect: "codex's own tools are off, except in workspaces, which have rules of their own",
    description:
      "The approval policy that `thread/start` asks for. It has no effect: codex's own tools are off, except in [workspaces](agents.md), which have rules of their own. The server warns at the start if it is set.",
  }),
  PROXY_CODEX_WORKDIR: documents({
    at: 'codex.workDir',
    type: filePath,
    default: DEFAULT_WORK_DIR,
    defaultInDocs: '`/tmp/codex-work` (on Windows `codex-work` in the temporary directory)',
    description:
      'The working directory in `thread/start`. If another user owns the default or can write to it, the server uses `work` in the state directory instead.',
  }),
  PROXY_CODEX_BINARY: deployment({
    at: 'codex.binary',
    type: filePath,
    defaultInDocs: 'the binary of the package',
    description:
      'Another codex binary to run, such as `/usr/local/bin/codex`. [Which versions work](operating.md#codex-versions).',
  }),
  PROXY_ENABLE_FEEDBACK: deployment({
    at: 'codex.feedback',
    type: yesOrNo,
    default: 'false',
    description:
      'Whether `POST /v1/codex/feedback` is served. It sends the text of a client to the makers of codex; nothing is sent without such a request.',
  }),
  PROXY_WORKERS: deployment({
    at: 'worker.count',
    type: wholeNumber(1, 64, 'processes'),
    default: '1',
    description: 'How many app-server processes share the requests. Each needs about 170 MB of memory.',
  }),
  PROXY_PRESTART: tuning({
    at: 'worker.preStart',
    type: wholeNumber(0, 16, 'turns'),
    default: '8',
    description:
      'How many turns each app-server may start for one model and API key before requests for them arrive; 32 over all. As many wait as requests ran at the same time in the last minute. Each costs about 1 MB. `0`: none; those that have carried a request still wait for the next.',
  }),
  PROXY_WARMUP: tuning({
    at: 'worker.warmUp',
    type: oneOf(['on', 'off']),
    default: 'on',
    description:
      'Whether synthetic requests go through the code of the server after its start, so that the first real ones find it compiled. They reach no backend and take a second or two of CPU.',
  }),
  PROXY_WORKER_HANG_TIMEOUT_MS: tuning({
    at: 'worker.hangTimeoutMs',
    type: wholeNumber(1_000, MAX_TIMER_MS, 'ms'),
    default: '10000',
    description: 'How long an app-server may answer nothing at all before it is killed and replaced.',
  }),
  PROXY_WORKER_MAX_THREADS: tuning({
    at: 'worker.maxThreads',
    type: wholeNumber(1, 1_000_000, 'threads'),
    default: '500',
    description: 'How many unused threads an app-server may hold before it is replaced.',
  }),
  PROXY_WORKER_MAX_RSS_MB: tuning({
    at: 'worker.maxRssMb',
    type: wholeNumber(1, 1_000_000, 'MB'),
    default: '1024',
    description: 'How much memory an app-server may use before it is replaced.',
  }),
  PROXY_WORKER_MAX_HOME_MB: tuning({
    at: 'worker.maxHomeMb',
    type: wholeNumber(16, 1_000_000, 'MB'),
    default: '128',
    description: 'How much an app-server may write to its home before it is replaced.',
  }),
  PROXY_LOG_LEVEL: everyday({
    at: 'log.level',
    type: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']),
    default: 'info',
    description: 'The lowest level that is logged.',
  }),
  PROXY_LOG_FORMAT: deployment({
    at: 'log.format',
    type: oneOf(['auto', 'json', 'pretty']),
    default: 'auto',
    description:
      'The form of log lines: one JSON object each (`json`) or short lines for people (`pretty`). `auto` is `pretty` in a terminal and `json` elsewhere. `NO_COLOR` removes the colours.',
  }),
  PROXY_LOG_CONTENT: deployment({
    at: 'log.content',
    type: yesOrNo,
    default: 'false',
    description: 'Whether the log also contains prompts and answers, up to 4,000 characters per text.',
  }),
  PROXY_ENABLE_METRICS: deployment({
    at: 'log.metrics',
    type: yesOrNo,
    default: 'true',
    description: 'Whether `GET /metrics` is served. It needs a key, except from this machine itself.',
  }),
};

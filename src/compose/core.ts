import path from 'node:path';

import { type Config, secretsOf } from '../config/schema.ts';
import { createAdmission } from '../turns/admission.ts';
import { createBodyBudget } from '../turns/body-budget.ts';
import { requestsOf } from '../turns/api.ts';
import { createImageFetcher } from '../turns/attachments/fetch-image.ts';
import { modelBudgets } from '../turns/plan-answer.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';
import { configuredKeysOf } from '../http/guards/authenticate.ts';
import { createTrustedProxies } from '../http/guards/client-address.ts';
import { createCors } from '../http/guards/cors.ts';
import { turnApis } from '../http/routes/table.ts';
import type { KeyIds } from '../store/key-ids.ts';
import { ALL_SETTINGS } from './features.ts';
import type { Core } from './feature.ts';
import type { BodyDeps } from '../http/body/read-json.ts';
import { paramLabel } from '../http/answer/param-label.ts';
import { RunningResponses } from '../turns/running-responses.ts';
import type { TurnDeps } from '../http/turn/start-turn.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { contentLog } from '../observe/content-log.ts';
import { frameTally } from '../observe/turn-metrics.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { TurnObserver } from '../observe/observer.ts';
import { turnTotal } from '../observe/request-end.ts';
import { createThreadedGuide } from '../schemas/threaded-guide.ts';
import { createThreadedTokenizer } from '../tokenizer/threaded-tokenizer.ts';
import { createFormatChecks, type FormatChecksOptions } from '../turns/format/check-format.ts';
import { openWorkFolders, requirePrivateState } from '../codex/home/private-folders.ts';
import { DEFAULT_WORK_DIR } from '../config/backend-settings.ts';

/** Creates private folders. MCP servers without a folder get one. */
export const placeFolders = async (config: Config, logger: Pick<Logger, 'warn'>): Promise<Config> => {
  await requirePrivateState(config.state.dir);
  const { workDir, mcpDir, instead } = await openWorkFolders({
    stateDir: config.state.dir,
    workDir: config.codex.workDir,
    isChosen: config.codex.workDir !== path.resolve(DEFAULT_WORK_DIR),
  });
  if (instead !== null) logger.warn({ workDir }, `the default working directory is not used: ${instead}`);
  return {
    ...config,
    codex: { ...config.codex, workDir },
    mcpServers: config.mcpServers.map((server) =>
      server.transport.kind === 'stdio'
        ? { ...server, transport: { ...server.transport, cwd: server.transport.cwd ?? mcpDir } }
        : server,
    ),
  };
};

/** Limits of every job, where they differ from the usual ones. */
export type ThreadTimes = NonNullable<FormatChecksOptions['times']>;

interface OpenThreadsDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly times: ThreadTimes | undefined;
}

/** Worker threads for work whose length a client decides. */
export const openThreads = (config: Config, { logger, metrics, times = {} }: OpenThreadsDeps) => {
  const tokenizer = createThreadedTokenizer({
    times,
    onGuess: (reason) => {
      metrics.tokenGuesses.inc();
      logger.warn({ reason }, 'token count estimated');
    },
  });
  const guide = createThreadedGuide({
    times,
    clock: systemAmbient.clock,
    onUnexplained: (reason) => {
      metrics.toolsUnexplained.inc({ reason });
      logger.warn({ reason }, 'tool described in prose without parameter docs');
    },
  });
  if (config.api.toolTransport.some(({ choice }) => choice === 'prose')) guide.warmUp();
  const formats = createFormatChecks({
    times,
    clock: systemAmbient.clock,
    onUnchecked: (reason) => {
      metrics.formatUnchecked.inc({ reason });
      logger.warn({ reason }, 'answer not checked against the requested schema');
    },
  });
  return {
    tokenizer,
    guide,
    formats,
    async close() {
      await Promise.all([formats.close(), tokenizer.close(), guide.close()]);
    },
  };
};

/** What limits the bodies of requests. */
export const bodyDeps = (config: Config, metrics: Metrics): BodyDeps => ({
  bodies: createBodyBudget({
    maxBytes: config.load.maxBytesInFlightMb * 1024 * 1024,
    waitMs: config.load.queueTimeoutMs,
    clock: systemAmbient.clock,
    onChange: (bytes) => metrics.bytesInFlight.set(bytes),
    onRefused: () => metrics.refused.inc({ reason: 'bytes' }),
  }),
  maxBodyBytes: config.http.maxBodyBytes,
});

interface CoreParts extends Pick<Core, 'environment' | 'logger' | 'store' | 'apis' | 'models' | 'times'> {
  readonly ownKey: OwnKey | null;
  readonly keyIds: KeyIds;
  readonly metrics: Metrics;
}

/** What features get besides their own settings. */
export const coreOf = (
  config: Config,
  { ownKey, keyIds, metrics, ...parts }: CoreParts,
  later: Pick<Core, 'turns' | 'exchanges' | 'observer' | 'listMcpTools' | 'login'>,
): Core => ({
  ...parts,
  ...later,
  ambient: systemAmbient,
  apis: turnApis(parts.apis),
  bodies: bodyDeps(config, metrics),
  configuredKeys: configuredKeysOf(ownKey === null ? config.http.apiKeys : [ownKey.key], keyIds),
  prices: config.prices,
  mcpServers: config.mcpServers,
  waits: {
    queueMs: config.load.queueTimeoutMs,
    idleMs: config.upstream.idleTimeoutMs,
    uploadIdleMs: config.http.uploadIdleTimeoutMs,
  },
  onRefused: (reason) => metrics.refused.inc({ reason }),
  proxies: createTrustedProxies(config.http.trustedProxies),
  cors: createCors(config.http.corsAllowedOrigins),
  stateDir: config.state.dir,
  secrets: secretsOf(config, ALL_SETTINGS),
  translatorSettings: translatorSettings(config),
});

const translatorSettings = (config: Config): object => {
  const { api, clients, tools, images, codex, upstream, mcpServers } = config;
  const { wire, params, chatgptLane, turnTimeoutMs, idleTimeoutMs } = upstream;
  return {
    api,
    clients,
    tools,
    images,
    codex,
    upstream: { wire, params, chatgptLane, turnTimeoutMs, idleTimeoutMs },
    mcpServers: mcpServers.map(({ label }) => label),
  };
};

/** The dependencies of all turns besides the engine. */
export const turnDeps = (
  config: Config,
  logger: Logger,
  metrics: Metrics,
  /** Observers of every turn. */
  observers: readonly TurnObserver[],
  isAdmin: (keyId: string) => boolean,
): Omit<
  TurnDeps,
  | 'engine'
  | 'models'
  | 'tokens'
  | 'formats'
  | 'captures'
  | 'sideTurns'
  | 'states'
  | 'background'
  | 'gate'
  | keyof BodyDeps
> => ({
  ambient: systemAmbient,
  running: new RunningResponses(),
  admission: createAdmission({
    maxRunning: config.load.maxConcurrentTurns,
    isAdmin,
    maxQueued: config.load.maxQueuedTurns,
    queueTimeoutMs: config.load.queueTimeoutMs,
    backgroundTimeoutMs: config.load.backgroundQueueTimeoutMs,
    clock: systemAmbient.clock,
    onChange({ inside, waiting }) {
      metrics.turnsRunning.set(inside);
      metrics.turnsQueued.set(waiting);
    },
    onWaited: (ms) => metrics.queueSeconds.observe(ms / 1000),
    onRefused: (reason) => metrics.refused.inc({ reason }),
  }),
  fetchImage: createImageFetcher({
    enabled: config.images.fetchEnabled,
    allowPrivate: config.images.fetchPrivate,
  }),
  passesImageUrls: config.images.urls === 'auto',
  onParsed: ({ client, dialect }, transport) => {
    metrics.turnRequests.inc({ transport });
    metrics.clientRequests.inc({ family: client.name, tier: client.source });
    if (dialect !== undefined) metrics.outputModes.inc({ mode: dialect.mode });
  },
  observersOf: (parsed, call) => [
    ...observers,
    turnTotal((turn) => call.note({ turn })),
    ...(config.log.content ? [contentLog(logger, call.requestId, requestsOf(parsed), parsed.choices)] : []),
  ],
  onObserverError: (err) => {
    metrics.observerErrors.inc();
    logger.error({ err }, 'observer failed');
  },
  frameTally: () => frameTally(metrics),
  onIgnored: (names) => {
    for (const param of new Set(names.map(paramLabel))) metrics.ignoredParams.inc({ param });
  },
  onBug: (err, { requestId }) => logger.error({ requestId, err }, 'turn failed unexpectedly'),
  onFormatMismatch: ({ requestId }) => {
    metrics.formatMismatches.inc();
    logger.warn({ requestId }, 'the answer does not match the requested format');
  },
  openBudget: modelBudgets(config.load.maxModelRequests, { metrics, logger, clock: systemAmbient.clock }),
  repair: {
    attempts: config.tools.repairAttempts,
    inStreams: config.tools.repairStreams,
    onRepair: (result) => metrics.toolRepairs.inc({ result }),
  },
  keepaliveMs: config.http.sseKeepaliveMs,
  strictParams: config.api.strictParams,
});

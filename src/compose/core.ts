import path from 'node:path';

import { type Config, secretsOf } from '../config/schema.ts';
import { createAdmission, type Admission } from '../turns/admission.ts';
import type { AnswerRules, OnBug, RunDeps, RunReports } from '../turns/run-deps.ts';
import type { TurnGate } from '../turns/turn-gate.ts';
import type { FormatChecks } from '../turns/format/check-format.ts';
import type { Engine } from '../engine/engine.ts';
import type { TokenCounter } from '../engine/count-tokens.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import { createBodyBudget } from '../turns/body-budget.ts';
import { requestsOf } from '../turns/api.ts';
import { createImageFetcher } from '../turns/attachments/fetch-image.ts';
import { modelBudgets } from '../turns/plan-answer.ts';
import { configuredKeysOf } from '../http/guards/authenticate.ts';
import { createTrustedProxies } from '../http/guards/client-address.ts';
import { createCors } from '../http/guards/cors.ts';
import { turnApis } from '../http/routes/table.ts';
import { ALL_METRICS, ALL_SETTINGS } from './features.ts';
import type { Core, Feature, Offers, TestTimes } from './feature.ts';
import type { BodyDeps } from '../http/body/read-json.ts';
import { paramLabel } from '../http/answer/param-label.ts';
import { RunningResponses } from '../turns/running-responses.ts';
import type { TurnDeps } from '../http/turn/start-turn.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { contentLog } from '../observe/content-log.ts';
import { frameTally, turnMetrics } from '../observe/turn-metrics.ts';
import type { Logger, WarningLogger } from '../observe/log.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import type { TurnObserver } from '../observe/observer.ts';
import { turnTotal } from '../observe/request-end.ts';
import { createThreadedGuide } from '../schemas/threaded-guide.ts';
import { createThreadedTokenizer } from '../tokenizer/threaded-tokenizer.ts';
import type { ThreadTimes } from '../threads/thread-pool.ts';
import { createFormatChecks } from '../turns/format/check-format.ts';
import { openWorkFolders, requirePrivateState } from '../codex/home/private-folders.ts';
import { DEFAULT_WORK_DIR } from '../config/backend-settings.ts';
import { openCodexBinary } from '../codex/binary.ts';
import { prepareHomes, type CodexHomes } from '../codex/home/prepare-home.ts';
import { loadOrCreateApiKey } from '../http/guards/own-secrets.ts';
import { BackendWatch } from '../observe/backend-health.ts';
import { CodexWatch } from '../observe/codex-watch.ts';
import type { LogSink } from '../observe/log-sink.ts';
import { createSideTurns } from '../turns/side-turns.ts';
import { TESTED_CODEX } from '../version.ts';
import { createServer, type HttpServer } from '../http/server.ts';
import { overridesLogin, UPSTREAM_KEY_ENV, type ActiveBackend } from './active-backend.ts';
import { apisOf, routesOf } from './endpoints.ts';
import { openFeatures, type OpenFeatures, type OpenParts } from './open-features.ts';
import { openServerStore, openSharedMemory } from './open-store.ts';

/** Creates private folders. MCP servers without a folder get one. */
export const placeFolders = async (config: Config, logger: WarningLogger): Promise<Config> => {
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

interface OpenThreadsDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly times: Partial<ThreadTimes> | undefined;
}

/** Worker threads for work whose length a client decides. */
const openThreads = (config: Config, { logger, metrics, times = {} }: OpenThreadsDeps) => {
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

export interface BaseDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  /** The log's sink, if it can drop lines. */
  readonly log?: LogSink;
  /** Of jobs in worker threads, where they differ from the usual ones. */
  readonly threadTimes?: Partial<ThreadTimes>;
  readonly times?: TestTimes;
}

export type Base = Awaited<ReturnType<typeof openBase>>;

/** What a server has before its features and its backend. */
export const openBase = async (given: Config, deps: BaseDeps, parts: OpenParts) => {
  const { environment, logger, log, threadTimes, times = {} } = deps;
  const config = await placeFolders(given, logger);
  const metrics = createMetrics(ALL_METRICS);
  log?.onDropped((lines) => metrics.logLinesDropped.inc(lines));
  const homes = await openHomes(config, environment, logger);
  const ownKey = config.http.apiKeys.length > 0 ? null : await loadOrCreateApiKey(config.state.dir);
  const { store, signer, keyIds } = parts.add('store', await openServerStore(config, { logger, metrics }));
  const shared = parts.add('shared memory', await openSharedMemory(store, config, logger));
  const threads = parts.add('threads', openThreads(config, { logger, metrics, times: threadTimes }));
  return {
    config,
    environment,
    logger,
    times,
    metrics,
    homes,
    ownKey,
    store,
    keyIds,
    shared,
    threads,
    apis: apisOf(config, metrics, { tokenizer: threads.tokenizer, signer }),
    codexWatch: new CodexWatch(TESTED_CODEX, logger),
    backendWatch: new BackendWatch(systemAmbient.clock),
  };
};

const openHomes = async (
  config: Config,
  environment: BaseDeps['environment'],
  logger: Logger,
): Promise<CodexHomes> =>
  prepareHomes({
    stateDir: config.state.dir,
    binary: await openCodexBinary(config.codex.binary),
    environment: {
      ...environment,
      CODEX_HOME: config.upstream.codexHome ?? undefined,
      // It may come from the config file.
      [UPSTREAM_KEY_ENV]: config.upstream.apiKey ?? undefined,
    },
    accessToken: config.upstream.accessToken,
    workDir: config.codex.workDir,
    allowsFeedback: config.codex.feedback,
    onUnsavedLogin: (err) =>
      logger.error({ err }, 'renewed tokens could not be saved: after a restart you have to sign in again'),
  });

const DAY_MS = 24 * 60 * 60_000;

/** What features get besides their own settings. */
const coreOf = (
  { config, environment, logger, times, metrics, homes, ownKey, store, keyIds, apis }: Base,
  active: () => ActiveBackend,
  later: Pick<Core, 'turns' | 'exchanges' | 'observer'>,
): Core => ({
  ...later,
  environment,
  logger,
  times,
  store,
  models: { names: () => active().models.names() },
  listMcpTools: () => active().backend.listMcpTools(),
  engine: () => active().engine,
  login: {
    homes,
    overriddenBy: overridesLogin(config),
    async follow() {
      // The first look may have begun before the change.
      await active().look();
      await active().look();
    },
  },
  ambient: systemAmbient,
  apis: turnApis(apis),
  bodies: bodyDeps(config, metrics),
  maxBytesInFlight: config.load.maxBytesInFlightMb * 1024 * 1024,
  storeTtlMs: config.state.ttlDays * DAY_MS,
  configuredKeys: configuredKeysOf(ownKey === null ? config.http.apiKeys : [ownKey.key], keyIds),
  prices: config.prices,
  mcpServers: config.mcpServers,
  workspaces: config.workspaces,
  secretPaths: config.secretPaths,
  agentLimits: config.agentLimits,
  waits: {
    queueMs: config.load.queueTimeoutMs,
    backgroundQueueMs: config.load.backgroundQueueTimeoutMs,
    idleMs: config.upstream.idleTimeoutMs,
    uploadIdleMs: config.http.uploadIdleTimeoutMs,
  },
  appServers: config.worker,
  onRefused: (reason) => metrics.refused.inc({ reason }),
  proxies: createTrustedProxies(config.http.trustedProxies),
  cors: createCors(config.http.corsAllowedOrigins),
  stateDir: config.state.dir,
  secrets: secretsOf(config, ALL_SETTINGS),
  translatorSettings: translatorSettings(config),
});

const translatorSettings = (config: Config): object => {
  const { api, clients, tools, images, codex, upstream, mcpServers, workspaces } = config;
  const { wire, params, chatgptLane, turnTimeoutMs, idleTimeoutMs } = upstream;
  return {
    api,
    clients,
    tools,
    images,
    codex,
    upstream: { wire, params, chatgptLane, turnTimeoutMs, idleTimeoutMs },
    mcpServers: mcpServers.map(({ label }) => label),
    workspaces: workspaces.map(({ label }) => label),
  };
};

interface TurnParts {
  readonly core: Core;
  readonly active: ActiveBackend;
  readonly offers: Offers;
}

/** What runs turns. */
const turnDeps = (
  { config, logger, metrics, threads, backendWatch }: Base,
  { core, active, offers }: TurnParts,
): TurnDeps => ({
  ...core.bodies,
  ...turnSettings(config, { logger, metrics }),
  models: active.models,
  captures: offers.captures,
  states: offers.states,
  background: offers.background,
  readChanges: offers.readChanges,
  runs: runDeps(config, {
    logger,
    metrics,
    isAdmin: offers.isAdmin,
    observers: [turnMetrics(metrics), backendWatch],
    engine: offers.aroundEngine(active.engine),
    models: active.models,
    tokens: threads.tokenizer,
    formats: threads.formats,
    gate: offers.gate,
  }),
});

interface TurnSettingDeps {
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** What serving a turn needs of the configuration, besides its run. */
export const turnSettings = (config: Config, { logger, metrics }: TurnSettingDeps) =>
  ({
    ambient: systemAmbient,
    onParsed: ({ client, dialect }, transport) => {
      metrics.turnRequests.inc({ transport });
      metrics.clientRequests.inc({ family: client.name, tier: client.source });
      if (dialect !== undefined) metrics.outputModes.inc({ mode: dialect.mode });
    },
    frameTally: () => frameTally(metrics),
    onBug: logBug(logger),
    keepaliveMs: config.http.sseKeepaliveMs,
  }) satisfies Partial<TurnDeps>;

const logBug =
  (logger: Logger): OnBug =>
  (err, { requestId }) =>
    logger.error({ requestId, err }, 'turn failed unexpectedly');

interface RunParts extends TurnSettingDeps {
  readonly isAdmin: (keyId: string) => boolean;
  /** Observers of every turn. */
  readonly observers: readonly TurnObserver[];
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly tokens: TokenCounter;
  readonly formats: FormatChecks;
  readonly gate: TurnGate;
}

export const runDeps = (config: Config, parts: RunParts): RunDeps => ({
  engine: parts.engine,
  gate: parts.gate,
  tokens: parts.tokens,
  formats: parts.formats,
  ambient: systemAmbient,
  running: new RunningResponses(),
  admission: admissionOf(config, parts),
  images: {
    fetch: createImageFetcher({
      enabled: config.images.fetchEnabled,
      allowPrivate: config.images.fetchPrivate,
    }),
    passesUrls: config.images.urls === 'auto',
  },
  rules: answerRules(config, parts),
  reports: runReports(config, parts),
});

const admissionOf = ({ load }: Config, { metrics, isAdmin }: RunParts): Admission =>
  createAdmission({
    maxRunning: load.maxConcurrentTurns,
    isAdmin,
    maxQueued: load.maxQueuedTurns,
    queueTimeoutMs: load.queueTimeoutMs,
    backgroundTimeoutMs: load.backgroundQueueTimeoutMs,
    clock: systemAmbient.clock,
    onChange({ inside, waiting }) {
      metrics.turnsRunning.set(inside);
      metrics.turnsQueued.set(waiting);
    },
    onWaited: (ms) => metrics.queueSeconds.observe(ms / 1000),
    onRefused: (reason) => metrics.refused.inc({ reason }),
  });

const answerRules = (
  { clients, http, load, tools, api }: Config,
  { engine, models, logger, metrics }: RunParts,
): AnswerRules => ({
  repair: {
    attempts: tools.repairAttempts,
    inStreams: tools.repairStreams,
    onRepair: (result) => metrics.toolRepairs.inc({ result }),
  },
  openBudget: modelBudgets(load.maxModelRequests, { metrics, logger, clock: systemAmbient.clock }),
  sideTurns: createSideTurns(
    { ...clients, keepaliveMs: http.sseKeepaliveMs },
    { engine, models, logger, metrics },
  ),
  keepaliveMs: http.sseKeepaliveMs,
  strictParams: api.strictParams,
});

const runReports = ({ log }: Config, { logger, metrics, observers }: RunParts): RunReports => ({
  observersOf: (parsed, call) => [
    ...observers,
    turnTotal((turn) => call.note({ turn })),
    ...(log.content ? [contentLog(logger, call.requestId, requestsOf(parsed), parsed.choices)] : []),
  ],
  onObserverError: (err) => {
    metrics.observerErrors.inc();
    logger.error({ err }, 'observer failed');
  },
  onIgnored: (names) => {
    for (const param of new Set(names.map(paramLabel))) metrics.ignoredParams.inc({ param });
  },
  onBug: logBug(logger),
  onFormatMismatch: ({ requestId }) => {
    metrics.formatMismatches.inc();
    logger.warn({ requestId }, 'the answer does not match the requested format');
  },
});

export interface ServerParts {
  readonly features: readonly Feature[];
  /** Opens the backend when the features are there: those who end its turns close after it. */
  readonly openBackend: (offers: Offers) => Promise<ActiveBackend>;
  /** Closes what was opened. */
  readonly parts: OpenParts;
}

export interface OpenServer {
  readonly http: HttpServer;
  readonly features: OpenFeatures;
  readonly active: ActiveBackend;
}

/** The features, the backend, and the HTTP server in front of them: for clients, and for the warm-up. */
export const openServer = async (
  base: Base,
  { features: all, openBackend, parts }: ServerParts,
): Promise<OpenServer> => {
  const { config, logger, metrics } = base;
  const core = coreOf(base, () => active, {
    turns: () => turns,
    exchanges: () => http.exchanges,
    observer: () => features.observer,
  });
  const features: OpenFeatures = await openFeatures(all, core, { config, metrics, parts });
  const { offers, observer } = features;
  const active = await openBackend(offers);
  const turns: TurnDeps = turnDeps(base, { core, active, offers });
  const exchanges = () => http.exchanges;
  const http: HttpServer = createServer({
    routes: features.routesWith(routesOf({ turns, active, base, hasConsole: offers.hasConsole, exchanges })),
    authenticate: offers.authenticate,
    cors: core.cors,
    isPrivate: offers.isPrivate,
    observer,
    ambient: core.ambient,
    logger,
    metrics,
    bodies: turns.bodies,
    uploadIdleTimeoutMs: config.http.uploadIdleTimeoutMs,
  });
  return { http, features, active };
};

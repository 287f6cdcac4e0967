import { overridesLogin, UPSTREAM_KEY_ENV, type ActiveBackend } from './active-backend.ts';
import type { Core, TestTimes } from './feature.ts';
import type { BackendState } from './banner.ts';
import { openCodexBinary } from '../codex/binary.ts';
import { prepareHomes, type CodexHomes } from '../codex/home/prepare-home.ts';
import type { WorkerDescription } from '../codex/worker/supervisor.ts';
import type { Config } from '../config/schema.ts';
import { ReasoningMemory } from '../engine/memory/reasoning-memory.ts';
import { ReasoningOrigins } from '../engine/memory/reasoning-origins.ts';
import { UnreadTotal } from '../engine/attempt/unread-total.ts';
import { loadOrCreateApiKey, type OwnKey } from '../http/guards/own-secrets.ts';
import type { Upgrades } from '../http/listen/upgrade.ts';
import { createServer, type HttpServer } from '../http/server.ts';
import type { TurnDeps } from '../http/turn/start-turn.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import { createSideTurns } from '../turns/side-turns.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { BackendWatch } from '../observe/backend-health.ts';
import { CodexWatch, type CodexReport } from '../observe/codex-watch.ts';
import type { Logger } from '../observe/log.ts';
import type { LogSink } from '../observe/log-sink.ts';
import { createMetrics, type Metrics } from '../observe/metrics.ts';
import { allObservers, type RequestObserver } from '../observe/request-observer.ts';
import { turnMetrics } from '../observe/turn-metrics.ts';
import { TESTED_CODEX } from '../version.ts';
import { apisOf, routesOf } from './endpoints.ts';
import { coreOf, turnDeps, openThreads, type ThreadTimes, placeFolders } from './core.ts';
import { ALL_METRICS, FEATURES } from './features.ts';
import { openFeatures, OpenParts } from './open-features.ts';
import { describeStore, openServerStore, openSharedMemory } from './open-store.ts';
import { openBackground } from './background.ts';
import { openState } from './state.ts';
import { openActiveBackend, type BackendDeps } from './backend.ts';

export interface App {
  readonly fetch: HttpServer['fetch'];
  /** Opens WebSockets; null: there are none. */
  readonly upgrades: Upgrades | null;
  /** Answers bytes that are not a valid request. */
  readonly refuse: HttpServer['refuse'];
  /** The state of the active backend. */
  state(): BackendState;
  /** The model that a request without another name gets; null: the backend names none. */
  standardModel(): Promise<string | null>;
  /** Where answers are stored, for people. */
  readonly store: string;
  /** The key created at the first start; null if keys are configured. */
  readonly ownKey: OwnKey | null;
  workers(): readonly WorkerDescription[];
  /** The version of codex, and its warnings. */
  codex(): CodexReport;
  /** Number of requests whose answer is not complete. */
  answersUnderWay(): number;
  /** Waits for running requests up to the limit, then releases everything. */
  stop(timeoutMs: number): Promise<void>;
}

export interface AppDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  /** The log's sink, if it can drop lines. */
  readonly log?: LogSink;
  /** A backend is chosen, and starts its app-server. */
  readonly onStarting?: (state: BackendState) => void;
  /** Interval for checking the login. */
  readonly lookEveryMs?: number;
  /** Interval for renewing leases. */
  readonly leaseEveryMs?: number;
  readonly times?: TestTimes;
  /** Of jobs in worker threads, where they differ from the usual ones. */
  readonly threadTimes?: ThreadTimes;
  /** Starts app-servers, if not in the usual way. */
  readonly startWorker?: BackendDeps['startWorker'];
}

/** After the last answer, interrupts of aborted turns may still be in progress. */
const LAST_INTERRUPTS_MS = 2_000;

/** The composition root. A start that fails closes what it has opened. */
export const createApp = async (given: Config, deps: AppDeps): Promise<App> => {
  const parts = new OpenParts((err, part) => deps.logger.error({ err, part }, 'could not be closed'));
  try {
    return await openApp(given, deps, parts);
  } catch (error) {
    await parts.close();
    throw error;
  }
};

const openApp = async (given: Config, deps: AppDeps, parts: OpenParts): Promise<App> => {
  const { environment, logger, log } = deps;
  const config = await placeFolders(given, logger);
  const metrics = createMetrics(ALL_METRICS);
  log?.onDropped((lines) => metrics.logLinesDropped.inc(lines));
  const watch = new BackendWatch(systemAmbient.clock);
  const homes = await openHomes(config, environment, logger);
  const ownKey = config.http.apiKeys.length > 0 ? null : await loadOrCreateApiKey(config.state.dir);
  const { store, signer, keyIds } = parts.add('store', await openServerStore(config, { logger, metrics }));
  const state = openState(store, config, { logger, metrics });
  const shared = parts.add('shared memory', await openSharedMemory(store, config, logger));
  const threads = parts.add('threads', openThreads(config, { logger, metrics, times: deps.threadTimes }));
  const apis = apisOf(config, metrics, { tokenizer: threads.tokenizer, signer });
  /** The backend is opened last: those who end its turns are there before it, and close after it. */
  const models: ModelDirectory = { names: () => active.models.names() };
  const core = coreOf(
    config,
    { environment, logger, ownKey, keyIds, store, apis, models, metrics, times: deps.times ?? {} },
    {
      turns: () => turns,
      exchanges: () => server.exchanges,
      observer: () => observer,
      listMcpTools: () => active.backend.listMcpTools(),
      login: loginOf(config, homes, () => active),
    },
  );
  const features = await openFeatures(FEATURES, core, { config, metrics, parts });
  const { offers } = features;
  const codexWatch = new CodexWatch(TESTED_CODEX, logger);
  const active = await openActiveBackend({
    ...deps,
    codexWatch,
    config,
    homes,
    cacheIds: shared.cacheIds,
    metrics,
    ...threads,
    unread: openUnreadTotal(config, metrics),
    reasoning: openReasoningMemory(config, metrics, shared),
    origins: new ReasoningOrigins(),
    mcp: offers.mcp,
  });
  parts.add('backend', { close: () => active.close(LAST_INTERRUPTS_MS) });
  const observer: RequestObserver = observerOf(features.observers, { metrics, logger });
  const background = openBackground(config, { ...deps, ...offers, observer, state, metrics });
  const turns: TurnDeps = {
    engine: active.engine,
    models: active.models,
    tokens: threads.tokenizer,
    formats: threads.formats,
    sideTurns: sideTurnsOf(config, { engine: active.engine, models: active.models, logger, metrics }),
    captures: offers.captures,
    states: state.states,
    background,
    gate: offers.gate,
    ...core.bodies,
    ...turnDeps(config, logger, metrics, [turnMetrics(metrics), watch], offers.isAdmin),
  };
  const server: HttpServer = createServer({
    routes: features.routesWith(
      routesOf(config, {
        apis,
        turns,
        state,
        active,
        homes,
        ownKey,
        metrics,
        hasConsole: offers.hasConsole,
        exchanges: () => server.exchanges,
        backendHealth: () => watch.health(),
      }),
    ),
    authenticate: offers.authenticate,
    cors: core.cors,
    isPrivate: offers.isPrivate,
    observer,
    ambient: systemAmbient,
    logger,
    metrics,
    bodies: turns.bodies,
    uploadIdleTimeoutMs: config.http.uploadIdleTimeoutMs,
  });
  background?.start(apis, turns);
  features.start();
  return {
    fetch: server.fetch,
    upgrades: features.upgrades,
    refuse: (failed, origin) => server.refuse(failed, origin),
    ...aboutBackend(active),
    store: describeStore(config.state),
    ownKey,
    codex: () => codexWatch.report(),
    answersUnderWay: () => server.exchanges.count,
    async stop(timeoutMs) {
      await Promise.all([features, server.exchanges, background].map(async (one) => one?.drain(timeoutMs)));
      await parts.close();
    },
  };
};

const loginOf = (config: Config, homes: CodexHomes, active: () => ActiveBackend): Core['login'] => ({
  homes,
  overriddenBy: overridesLogin(config),
  async follow() {
    // The first look may have begun before the change.
    await active().look();
    await active().look();
  },
});

const observerOf = (
  observers: readonly RequestObserver[],
  { metrics, logger }: { readonly metrics: Metrics; readonly logger: Logger },
): RequestObserver =>
  allObservers(observers, (err) => {
    metrics.observerErrors.inc();
    logger.error({ err }, 'observer of requests failed');
  });

const sideTurnsOf = (
  { clients, http }: Config,
  deps: Parameters<typeof createSideTurns>[1],
): ReturnType<typeof createSideTurns> =>
  createSideTurns({ ...clients, keepaliveMs: http.sseKeepaliveMs }, deps);

const aboutBackend = (active: ActiveBackend): Pick<App, 'state' | 'standardModel' | 'workers'> => ({
  state: () => active.backend.state,
  standardModel: async () => (await active.models.names()).list.standard,
  workers: () => active.backend.workers(),
});

const openUnreadTotal = ({ load }: Config, metrics: Metrics): UnreadTotal =>
  new UnreadTotal({
    maxBytes: load.maxBytesInFlightMb * 1024 * 1024,
    onChange: (bytes) => metrics.bytesUnread.set(bytes),
  });

const openReasoningMemory = (
  { upstream }: Config,
  metrics: Metrics,
  { reasoning: shared }: Awaited<ReturnType<typeof openSharedMemory>>,
): ReasoningMemory =>
  new ReasoningMemory({
    maxBytes: upstream.reasoningMemoryMb * 1024 * 1024,
    clock: systemAmbient.clock,
    onChange: (bytes) => metrics.bytesRemembered.set(bytes),
    ...(shared === null ? {} : { shared }),
  });

const openHomes = async (
  config: Config,
  environment: AppDeps['environment'],
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

import path from 'node:path';

import {
  BYPASS_MS,
  createActiveBackend,
  createChooser,
  originOf,
  RelayBypass,
  signedOutEngine,
  type ActiveBackend,
  type ChosenBackend,
} from './active-backend.ts';
import { describeState, type BackendState } from './banner.ts';
import type { BackendTarget, LoginBackend } from '../codex/home/backend.ts';
import { type Catalogue, cleanCatalogue } from '../codex/home/catalogue.ts';
import { type CodexHomes, catalogueKind } from '../codex/home/prepare-home.ts';
import {
  type WorkerDescription,
  type WorkerLeases,
  type WorkerPool,
  createWorkerPool,
  type WorkerPoolEvent,
} from '../codex/worker/supervisor.ts';
import type { StartWorker, Worker } from '../codex/worker/worker.ts';
import { type Config, secretsOf } from '../config/schema.ts';
import type { Base } from './core.ts';
import { ALL_SETTINGS } from './features.ts';
import { createCodexAccount, type CodexAccount, type CodexAccountOptions } from '../engine/codex-account.ts';
import { compactionOf } from '../codex/capabilities/compaction.ts';
import { Refusals } from '../codex/capabilities/refusals.ts';
import { RequestStrategies } from '../engine/plan/request-strategies.ts';
import type { Engine } from '../engine/engine.ts';
import { BACKEND_STEPS, type BackendStepDeps } from '../engine/steps/order.ts';
import { withSteps } from '../engine/steps/step.ts';
import { listMcpTools, type McpAccess, type ListedMcp } from '../engine/mcp/mcp-tools.ts';
import { createModelDirectory, type ModelDirectory } from '../engine/model-directory.ts';
import { ReasoningMemory } from '../engine/memory/reasoning-memory.ts';
import { ReasoningOrigins, type ReasoningOrigin } from '../engine/memory/reasoning-origins.ts';
import type { ToolGuide } from '../engine/prose-tools/prose-request.ts';
import { transportFor } from '../engine/prose-tools/prose-engine.ts';
import { createEngine } from '../engine/attempt/run-turn.ts';
import type { TurnDriver } from '../engine/drivers/driver.ts';
import type { Tokenizer } from '../engine/count-tokens.ts';
import { UnreadTotal } from '../engine/attempt/unread-total.ts';
import { type JsonObject, present } from '../kit/json/json.ts';
import type { CodexWatch } from '../observe/codex-watch.ts';
import { systemAmbient, type Clock } from '../kit/ambient.ts';
import type { CacheIds } from '../store/memory/cache-ids.ts';
import { placeRelay, type PlaceRelayOptions, type Wire, type PlacedRelay } from './relay.ts';
import type { Relay } from '../codex/relay/server/relay.ts';
import { relayDriver, type RelayDriverDeps } from '../engine/drivers/relay/driver.ts';
import { rpcDriver } from '../engine/drivers/rpc/driver.ts';
import { CHATGPT_HISTORY, OTHER_HISTORY } from '../codex/translate/fit-history.ts';
import { reportAnomalies, reportUnreadItems } from '../observe/upstream-losses.ts';
import type { Failure } from '../canonical/failure/failure.ts';
import { accessTokenRejected, accessTokenUnconfirmed } from '../codex/failures/access-token.ts';
import { UNREAD_ITEM } from '../codex/home/environment.ts';
import { readLogin } from '../codex/login/read-login.ts';
import { createWorkerSpawner } from '../codex/worker/spawn-worker.ts';
import { probed, type ProbeOptions } from '../engine/attempt/probe-worker.ts';
import { boundedLabel } from '../observe/metric-row.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { malformedLines, rpcMetrics } from '../observe/rpc-metrics.ts';
import { VERSION } from '../version.ts';
import { createAccountModels, type AccountModels } from '../codex/models/account-models.ts';
import { askAccount } from '../codex/models/ask-account.ts';
import { openSavedLists } from '../codex/models/saved-lists.ts';
import { createProviderModels } from '../codex/models/provider-models.ts';

/** The models of a backend for `/v1/models` and the workers. */
export type OpenModels = Omit<AccountModels, 'origin'>;

export interface OpenModelsOptions {
  readonly homes: CodexHomes;
  /** As configured, not as the app-server sees it. */
  readonly backend: BackendTarget;
  /** As the app-server sees it: the relay, if there is one. */
  readonly appServerBackend: BackendTarget;
  /** Who asks an account for its models. */
  readonly via: 'us' | 'codex';
  /** A provider's key; null: none, or the relay adds it. */
  readonly apiKey: string | null;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** For tests: how long a start waits for the list of an account. */
  readonly firstWaitMs?: number;
}

/** Accounts and providers are queried for their models; otherwise codex's own list is used. */
export const openModels = async (options: OpenModelsOptions): Promise<OpenModels> => {
  const { backend, homes } = options;
  if (options.appServerBackend.kind === 'login' && options.appServerBackend.login === 'chatgpt')
    return openAccount(options, options.appServerBackend);
  const catalogue = cleanCatalogue(homes.bundled, catalogueKind(backend));
  const fixed = { catalogue: async () => catalogue, current: () => catalogue, onChange: () => {} };
  if (backend.kind !== 'upstream') {
    return { ...fixed, models: async () => catalogue.list, refresh: () => {}, close: async () => {} };
  }
  const provider = createProviderModels({
    baseUrl:
      options.appServerBackend.kind === 'upstream' ? options.appServerBackend.baseUrl : backend.baseUrl,
    apiKey: options.apiKey,
    bundled: catalogue.list,
    clock: options.clock,
    onFailed: (reason) =>
      options.logger.info({ reason }, 'the provider lists no models; using the list of codex'),
  });
  return {
    ...fixed,
    models: () => provider.models(),
    refresh: () => provider.refresh(),
    close: () => provider.close(),
  };
};

/** A worker may refresh a token that is valid for less than this at any moment. */
const FRESH_FOR_MS = 15 * 60_000;

const openAccount = async (
  { homes, via, clock, logger, firstWaitMs }: OpenModelsOptions,
  backend: LoginBackend,
): Promise<OpenModels> => {
  const login = async () => {
    const text = (await homes.login.read()) ?? '';
    const facts = readLogin(text);
    // A personal access token contains no account id.
    return { account: facts?.accountId ?? homes.login.revisionOf(text), expiresAt: facts?.expiresAt ?? null };
  };
  const { account } = await login();
  return createAccountModels({
    bundled: homes.bundled,
    ask: (signal) => askAccount({ homes, backend, via, signal }),
    mayAskAgain: async () => {
      const now = await login();
      // The login now belongs to another account.
      if (now.account !== account) return false;
      return (now.expiresAt?.getTime() ?? Infinity) - clock.now() > FRESH_FOR_MS;
    },
    kept: openSavedLists(path.join(homes.lastingDirectory, 'account-models'), account),
    clock,
    ...present({ firstWaitMs }),
    onFailed: (reason) =>
      logger.warn({ reason }, 'the models of the account could not be listed; using the last known list'),
  });
};

/** Maximum wait of a request for a worker. */
const WORKER_WAIT_MS = 15_000;

interface PoolParts {
  readonly wiring: Wiring;
  readonly offered: OpenModels;
  /** Prepares each new process before it takes over. */
  readonly driver: TurnDriver;
}

/** The app-server processes of one backend. */
const createPool = (
  placed: PlacedRelay,
  { wiring, offered, driver }: PoolParts,
  { config, homes, logger, metrics, mcp, codexWatch, startWorker }: BackendDeps,
): WorkerPool => {
  const { backend } = placed;
  const unknownMethod = boundedLabel();
  const onUnreadItem = reportUnreadItems(metrics, logger);
  return createWorkerPool({
    spawnWorker: warmed(driver, {
      isLogin: backend.kind === 'login',
      spawn: createWorkerSpawner({
        start: startWorker,
        homes,
        backend,
        catalogue: () => offered.catalogue(),
        reportsContent: wiring.reportsContent,
        reportsTools: mcp.deployment.size > 0 || mcp.reach !== null,
        clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
        onStderr: (line) => {
          logger.debug({ line }, 'app-server stderr');
          // With the relay the content does not come from codex.
          if (wiring.reportsContent && line.trimEnd().endsWith(UNREAD_ITEM)) onUnreadItem();
        },
        onVersion: (version) => codexWatch.started(version),
        onWarning: (text) => codexWatch.warned(text),
        onCall: rpcMetrics(metrics, logger),
        onUnknownNotification: (method) =>
          metrics.upstreamUnknownEvents.inc({ method: unknownMethod(method) }),
        onMalformedLine: malformedLines(metrics, logger),
        onListenerError: (err) => logger.error({ err }, 'a turn could not handle a notification'),
      }),
      workdir: config.codex.workDir,
      whyRejected:
        backend.kind === 'login' && backend.accessToken !== null
          ? async () => placed.tokenFailure() ?? (await unusedToken(homes))
          : null,
    }),
    size: config.worker.count,
    hangTimeoutMs: config.worker.hangTimeoutMs,
    maxThreads: config.worker.maxThreads,
    maxRssMb: config.worker.maxRssMb,
    maxHomeMb: config.worker.maxHomeMb,
    waitMs: WORKER_WAIT_MS,
    clock: systemAmbient.clock,
    onEvent: (event) => reportWorkerEvent(event, logger, metrics),
  });
};

/** codex checks the dates of agent tokens by itself. */
const unusedToken = async ({ login }: CodexHomes): Promise<Failure> => {
  const { expiresAt = null } = readLogin((await login.read()) ?? '') ?? {};
  const isOver = expiresAt !== null && expiresAt.getTime() <= systemAmbient.clock.now();
  return isOver ? accessTokenRejected() : accessTokenUnconfirmed();
};

/** Spawns workers that can serve at once. */
const warmed = (driver: TurnDriver, options: ProbeOptions): (() => Promise<Worker>) => {
  const spawn = probed(options);
  return async () => {
    const worker = await spawn();
    await driver.warm(worker.appServer);
    return worker;
  };
};

const TROUBLE: ReadonlySet<WorkerPoolEvent['kind']> = new Set<WorkerPoolEvent['kind']>([
  'worker-ill',
  'worker-lost',
  'start-failed',
  'diagnostics-failed',
]);

const reportWorkerEvent = (event: WorkerPoolEvent, logger: Logger, metrics: Metrics): void => {
  const { kind, ...facts } = event;
  if (kind === 'worker-lost') metrics.workerRestarts.inc();
  if (kind === 'worker-worn') metrics.workerReplacements.inc();
  if (event.kind === 'worker-ill') metrics.workerHealthProblems.inc({ ailment: event.healthProblem });
  logger[TROUBLE.has(kind) ? 'warn' : 'info'](facts, kind);
};

/** What a driver needs for this backend. */
export const driverDeps = (
  chosen: BackendTarget,
  { offered, origin }: { readonly offered: Pick<OpenModels, 'current'>; readonly origin: ReasoningOrigin },
  {
    config,
    metrics,
    logger,
    mcp,
    unread,
  }: Pick<BackendDeps, 'config' | 'metrics' | 'logger' | 'mcp' | 'unread'>,
): Parameters<Wiring['driver']>[0] => {
  const isChatgpt = chosen.kind === 'login' && chosen.login === 'chatgpt';
  return {
    historyRules: { ...(isChatgpt ? CHATGPT_HISTORY : OTHER_HISTORY), isForeign: origin.isForeign },
    effortsOf: (model) => (isChatgpt ? offered.current().effortsOf(model) : null),
    slugOf: (name) => offered.current().slugOf(name),
    settings: {
      instructionsTarget: config.api.instructionsTarget,
      sandboxMode: config.codex.sandboxMode,
      approvalPolicy: config.codex.approvalPolicy,
      workdir: config.codex.workDir,
      knows: (model) => offered.current().knows(model),
    },
    preStart: {
      max: config.worker.preStart,
      expected() {
        const models = offered.current();
        return models.list.standard === null ? null : models.slugOf(models.list.standard);
      },
      onEnd: (fate) => metrics.preStartedTurns.inc({ fate }),
      onMiss: () => metrics.preStartedMisses.inc(),
      onChange: (waiting, idle) => {
        metrics.preStartedWaiting.set(waiting);
        metrics.idleThreads.set(idle);
      },
    },
    onNotContinued: () =>
      logger.warn(
        'codex does not continue turns: each request gets one of its own, which costs four times as much',
      ),
    mcp,
    idleTimeoutMs: config.upstream.idleTimeoutMs,
    unread,
    ambient: systemAmbient,
    onAnomaly: reportAnomalies(metrics, logger),
  };
};

/** How the parts of a backend reach it. */
interface Wiring {
  readonly driver: (deps: Omit<RelayDriverDeps, 'relay'>) => TurnDriver;
  /** Who asks an account for its models. */
  readonly listsModels: 'us' | 'codex';
  /** Whether the caller of a provider's address must send its key. */
  readonly needsKey: boolean;
  /** Whether app-servers report what the model writes. */
  readonly reportsContent: boolean;
}

/** The one place that asks whether there is a relay. */
export const wiringOf = (relay: Relay | null): Wiring =>
  relay === null
    ? { driver: rpcDriver, listsModels: 'codex', needsKey: true, reportsContent: true }
    : {
        driver: (deps) => relayDriver({ ...deps, relay }),
        listsModels: 'us',
        needsKey: false,
        reportsContent: false,
      };

/** Everything for one backend: processes, relay, models, and what was learnt about it. */
export interface Backend {
  readonly engine: Engine;
  readonly models: ModelDirectory;
  readonly state: BackendState;
  /** Queries other than turns. */
  readonly codexAccount: CodexAccount;
  /** The models in codex's own format. */
  codexModels(): readonly JsonObject[];
  ready(): boolean;
  workers(): readonly WorkerDescription[];
  /** The tools of the configured MCP servers. */
  listMcpTools(): Promise<readonly ListedMcp[]>;
  /** Starts new processes for new turns; running turns finish where they are. */
  renew(): void;
  /** Waits for the running turns up to the limit, then releases everything. */
  close(timeoutMs: number): Promise<void>;
}

export interface BackendDeps extends Omit<
  PlaceRelayOptions,
  'config' | 'wire' | 'login' | 'cacheIds' | 'refusals'
> {
  readonly config: Config;
  readonly homes: CodexHomes;
  /** The ids of conversations at each backend and account. */
  readonly cacheIds: CacheIds;
  readonly tokenizer: Tokenizer;
  readonly guide: ToolGuide;
  /** Unread bytes of all answers. */
  readonly unread: UnreadTotal;
  /** Reasoning of models before their tool calls. */
  readonly reasoning: ReasoningMemory;
  /** Who wrote encrypted reasoning. */
  readonly origins: ReasoningOrigins;
  readonly mcp: McpAccess;
  readonly codexWatch: CodexWatch;
  /** Starts app-servers, if not in the usual way. */
  readonly startWorker?: StartWorker | undefined;
  /** The backend rejected the login: there may be a newer one. */
  readonly onUnauthorized: () => void;
}

/** How often a driver replaces what it has prepared too long ago. */
const REFRESH_MS = 30_000;
/** Timeout for listing tools. */
const LIST_TOOLS_MS = 60_000;

const createBackend = async (chosen: ChosenBackend, wire: Wire, deps: BackendDeps): Promise<Backend> => {
  const { config, homes } = deps;
  const refusals = new Refusals(systemAmbient.clock);
  const name = originOf(chosen);
  const closers: (() => Promise<void>)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const close of closers.splice(0).toReversed()) await close();
  };
  try {
    const opened = await chosen.open();
    closers.push(() => opened.close());
    const placed = await placeRelay(opened.backend, {
      ...deps,
      config: config.upstream,
      wire,
      login: homes.login,
      cacheIds: deps.cacheIds.of(name),
      refusals,
    });
    closers.push(() => placed.close());
    const wiring = wiringOf(placed.relay);
    const offered = await openModels({
      homes,
      backend: opened.backend,
      appServerBackend: placed.backend,
      via: wiring.listsModels,
      apiKey: wiring.needsKey ? config.upstream.apiKey : null,
      clock: systemAmbient.clock,
      logger: deps.logger,
    });
    closers.push(() => offered.close());
    const origin = deps.origins.of(name);
    const driver = wiring.driver(driverDeps(opened.backend, { offered, origin }, deps));
    const workers = createPool(placed, { wiring, offered, driver }, deps);
    closers.push(() => workers.drain(0));
    const refreshing = setInterval(() => driver.refresh(), REFRESH_MS).unref();
    closers.push(async () => clearInterval(refreshing));
    offered.onChange(() => workers.renew());
    await workers.start();
    return {
      engine: engineOf(placed.backend, {
        driver,
        chosen: opened.backend,
        identity: chosen.identity,
        origin,
        offered,
        workers,
        refusals,
        wasRenewedSince: async (timeMs) =>
          opened.backend.kind === 'login' && homes.login.wasRenewedSince(timeMs),
        deps,
      }),
      models: createModelDirectory(offered, config.clients.modelAliases),
      state: chosen.state,
      codexAccount: createCodexAccount({
        backend: accountOf(opened.backend),
        workers,
        clock: systemAmbient.clock,
      }),
      codexModels: () => offered.current().entries,
      ready: () => workers.ready,
      workers: () => workers.describe(),
      listMcpTools: () =>
        listMcpTools([...deps.mcp.deployment.values()], {
          workers,
          workdir: config.codex.workDir,
          maxMs: LIST_TOOLS_MS,
        }),
      renew: () => workers.renew(),
      async close(timeoutMs) {
        await workers.drain(timeoutMs);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
};

const accountOf = (backend: BackendTarget): CodexAccountOptions['backend'] => {
  if (backend.kind === 'login') return backend.login;
  return backend.kind === 'upstream' ? 'provider' : backend.kind;
};

export interface EngineParts {
  readonly driver: TurnDriver;
  /** As configured, not as the app-server sees it. */
  readonly chosen: BackendTarget;
  /** Stays the same for the same backend and account. */
  readonly identity: string;
  readonly origin: ReasoningOrigin;
  readonly offered: Pick<OpenModels, 'current' | 'refresh'>;
  readonly workers: WorkerLeases;
  readonly refusals: Refusals;
  /** Whether the login's tokens have been renewed since this time. */
  readonly wasRenewedSince: (timeMs: number) => Promise<boolean>;
  readonly deps: EngineNeeds;
}

type EngineNeeds = Pick<
  BackendDeps,
  'config' | 'metrics' | 'logger' | 'tokenizer' | 'guide' | 'onUnauthorized'
> & {
  readonly reasoning: Pick<ReasoningMemory, 'of'>;
  readonly codexWatch: Pick<CodexWatch, 'warned'>;
};

/** The engine of a backend, with all steps that add missing features. */
export const engineOf = (
  appServerBackend: BackendTarget,
  { driver, chosen, identity, origin, offered, workers, refusals, wasRenewedSince, deps }: EngineParts,
): Engine => {
  if (appServerBackend.kind === 'none') return signedOutEngine;
  const { config, metrics } = deps;
  const isChatgpt = chosen.kind === 'login' && chosen.login === 'chatgpt';
  const formats = {
    setting: FORMAT_OF_SETTING[config.upstream.chatgptLane],
    usesCodexFormat: (model: string) => offered.current().usesCodexFormat(model),
    responsesSlug: (model: string) => offered.current().responsesSlug(model),
  };
  const engine = createEngine({
    workers,
    driver,
    refusals,
    clock: systemAmbient.clock,
    strategies: new RequestStrategies({
      formats: isChatgpt ? formats : null,
      carries: driver.carries,
      refusals,
      clock: systemAmbient.clock,
      onLearnt: (model, refused, taken) =>
        deps.logger.warn(
          { model, refused, taken },
          'the backend rejected a request strategy for this model; using another one',
        ),
    }),
    reasoning: deps.reasoning.of(identity, refusals),
    origin,
    onRecalled: (items) => metrics.reasoningRecalled.inc(items),
    onForeign: (items) => metrics.reasoningDropped.inc(items),
    onRefused: ({ kind, message }) => {
      // The backend's list may have changed.
      if (kind === 'model_not_found') offered.refresh();
      if (kind === 'upstream_unauthorized') deps.onUnauthorized();
      if (kind === 'codex_incompatible') deps.codexWatch.warned(`${UPDATE_CODEX} ${message}`);
    },
    wasRenewedSince,
  });
  const stepDeps: BackendStepDeps = {
    secrets: secretsOf(config, ALL_SETTINGS),
    usesAccessToken: chosen.kind === 'login' && chosen.accessToken !== null,
    turnTimeoutMs: config.upstream.turnTimeoutMs,
    tokenizer: deps.tokenizer,
    refusals,
    compaction: compactionOf(chosen, driver.carries.compactionTrigger),
    onNoCompaction: (model) =>
      deps.logger.warn(
        { model },
        'the backend does not support compaction: conversations are summarised instead',
      ),
    prose: {
      isProse: (model) => transportFor(config.api.toolTransport, model) === 'prose',
      guide: deps.guide,
      instructionsTarget: config.api.instructionsTarget,
      ambient: systemAmbient,
      onAnomaly: (anomaly) => metrics.upstreamAnomalies.inc({ oddity: anomaly }),
    },
    ...systemAmbient,
  };
  const plan = withSteps<BackendStepDeps>(BACKEND_STEPS, engine.plan, stepDeps);
  return {
    plan(request, context) {
      const { trace } = context;
      const catalogue = offered.current();
      if (trace.isRecording)
        trace.record('backend', {
          backend: chosen.kind,
          isChatgpt,
          ...driver.describe({ request, context }),
          origin: origin.name,
          ...modelFacts(catalogue, request.model),
        });
      const planned = plan(request, context);
      return { ...planned, isCurrent: () => planned.isCurrent() && catalogue === offered.current() };
    },
  };
};

const UPDATE_CODEX = 'Update this server, or name a newer codex with PROXY_CODEX_BINARY.';

/** The values of `PROXY_CHATGPT_LANE` as request formats. */
const FORMAT_OF_SETTING = { auto: 'auto', full: 'responses', lite: 'codex' } as const;

/** Facts about a model, under the names that captures use. */
const modelFacts = (catalogue: Catalogue, model: string) => ({
  isLite: catalogue.usesCodexFormat(model),
  fullLane: catalogue.responsesSlug(model),
  efforts: catalogue.effortsOf(model),
  isKnown: catalogue.knows(model),
  slug: catalogue.slugOf(model),
});

const LOOK_EVERY_MS = 2_000;

export interface ActiveBackendDeps extends Pick<BackendDeps, 'mcp' | 'startWorker'> {
  /** Interval for checking the login. */
  readonly lookEveryMs?: number;
  /** A backend is chosen, and starts its app-server. */
  readonly onStarting?: (state: BackendState) => void;
}

/** The active backend, which follows changes of the login and of the relay bypass. */
export const openActiveBackend = async (base: Base, deps: ActiveBackendDeps): Promise<ActiveBackend> => {
  const { config, logger, metrics, homes, shared, threads } = base;
  /** They outlive a backend: conversations go on with the next one. */
  const memories = {
    cacheIds: shared.cacheIds,
    unread: openUnreadTotal(config, metrics),
    reasoning: openReasoningMemory(config, metrics, shared),
    origins: new ReasoningOrigins(),
  };
  const bypass = new RelayBypass(systemAmbient.clock);
  const choose = createChooser(config.upstream, homes, (why) => logger.error(why));
  /** Null until the first backend exists: it may meet a block page while it is created. */
  let active: ActiveBackend | null = null;
  /** Repeated block pages open the bypass. */
  const watchFor = (wire: 'on' | 'off' | 'bypass') => ({
    onBlocked() {
      metrics.relayBlocked.inc();
      if (wire === 'bypass' || !bypass.blocked()) return;
      logger.error(
        { minutes: BYPASS_MS / 60_000 },
        'repeated block pages: bypassing the relay for a while; relay-only parameters have no effect meanwhile',
      );
      void active?.look();
    },
    onServed: () => bypass.served(),
    onUnauthorized: () => void active?.look(),
  });
  active = await createActiveBackend({
    async choose() {
      const chosen = await choose();
      const wire = bypass.isOpen() ? 'bypass' : config.upstream.wire;
      return {
        identity: `${chosen.identity}, wire ${wire}`,
        revision: chosen.revision,
        make() {
          deps.onStarting?.(chosen.state);
          return createBackend(chosen, wire, {
            ...base,
            ...threads,
            ...memories,
            ...deps,
            ...watchFor(wire),
          });
        },
      };
    },
    lookEveryMs: deps.lookEveryMs ?? LOOK_EVERY_MS,
    onSwitch: (backend) => {
      metrics.backendSwitches.inc();
      logger.warn({ backend: describeState(backend.state) }, 'switched to another backend');
    },
    onTrouble: (err) => logger.error({ err }, 'could not switch to another backend; trying again'),
  });
  return active;
};

export const openUnreadTotal = ({ load }: Config, metrics: Metrics): UnreadTotal =>
  new UnreadTotal({
    maxBytes: load.maxBytesInFlightMb * 1024 * 1024,
    onChange: (bytes) => metrics.bytesUnread.set(bytes),
  });

export const openReasoningMemory = (
  { upstream }: Config,
  metrics: Metrics,
  { reasoning: shared }: Base['shared'],
): ReasoningMemory =>
  new ReasoningMemory({
    maxBytes: upstream.reasoningMemoryMb * 1024 * 1024,
    clock: systemAmbient.clock,
    onChange: (bytes) => metrics.bytesRemembered.set(bytes),
    ...(shared === null ? {} : { shared }),
  });

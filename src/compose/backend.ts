import { originOf, signedOutEngine, type ChosenBackend } from './choose-backend.ts';
import type { BackendState } from './banner.ts';
import type { BackendTarget } from '../codex/home/backend.ts';
import type { Catalogue } from '../codex/home/catalogue.ts';
import type { CodexHomes } from '../codex/home/prepare-home.ts';
import type { WorkerDescription, WorkerPool } from '../codex/worker/supervisor.ts';
import type { StartWorker } from '../codex/worker/worker.ts';
import { type Config, secretsOf } from '../config/schema.ts';
import { ALL_SETTINGS } from './feature-tables.ts';
import { createCodexAccount, type CodexAccount, type CodexAccountOptions } from '../engine/codex-account.ts';
import { compactionOf } from '../codex/capabilities/compaction.ts';
import { Refusals } from '../codex/capabilities/refusals.ts';
import { RequestStrategies } from '../engine/plan/request-strategies.ts';
import type { Engine } from '../engine/engine.ts';
import { BACKEND_STEPS, type BackendStepDeps } from '../engine/steps/order.ts';
import { withSteps } from '../engine/steps/step.ts';
import { listMcpTools, type McpAccess, type ListedMcp } from '../engine/mcp/mcp-tools.ts';
import { createModelDirectory, type ModelDirectory } from '../engine/model-directory.ts';
import type { ReasoningMemory } from '../engine/memory/reasoning-memory.ts';
import type { ReasoningOrigin, ReasoningOrigins } from '../engine/memory/reasoning-origins.ts';
import type { ToolGuide } from '../engine/prose-tools/prose-request.ts';
import { transportFor } from '../engine/prose-tools/prose-engine.ts';
import { createEngine } from '../engine/attempt/run-turn.ts';
import type { TurnDriver } from '../engine/drivers/driver.ts';
import type { Tokenizer } from '../engine/count-tokens.ts';
import type { UnreadTotal } from '../engine/attempt/unread-total.ts';
import type { JsonObject } from '../kit/json/json.ts';
import type { CodexWatch } from '../observe/codex-watch.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { CacheIds } from '../store/memory/cache-ids.ts';
import { openModels, type OpenModels } from './models.ts';
import { driverDeps } from './driver.ts';
import { createPool } from './worker-pool.ts';
import { placeRelay, type PlaceRelayOptions, type Wire } from './relay.ts';
import { wiringOf } from './wiring.ts';

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
  readonly cacheIds: Pick<CacheIds, 'of'>;
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

export const createBackend = async (
  chosen: ChosenBackend,
  wire: Wire,
  deps: BackendDeps,
): Promise<Backend> => {
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
  readonly workers: WorkerPool;
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

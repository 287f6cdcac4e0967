import type { Config } from '../config/schema.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';
import type { Upgrades } from '../http/listen/upgrade.ts';
import { createServer, type HttpServer } from '../http/server.ts';
import type { TurnDeps } from '../http/turn/start-turn.ts';
import { openActiveBackend, type ActiveBackendDeps, type Backend } from './backend.ts';
import type { BackendState } from './banner.ts';
import { coreOf, openBase, turnDeps, type Base, type BaseDeps } from './core.ts';
import { routesOf } from './endpoints.ts';
import { FEATURES } from './features.ts';
import { drainAll, openFeatures, OpenParts, type OpenFeatures } from './open-features.ts';
import { describeStore } from './open-store.ts';

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
  workers(): ReturnType<Backend['workers']>;
  /** The version of codex, and its warnings. */
  codex(): ReturnType<Base['codexWatch']['report']>;
  /** Number of requests whose answer is not complete. */
  answersUnderWay(): number;
  /** Waits for running requests up to the limit, then releases everything. */
  stop(timeoutMs: number): Promise<void>;
}

export type AppDeps = BaseDeps & Omit<ActiveBackendDeps, 'mcp'>;

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
  const base = await openBase(given, deps, parts);
  const { config, logger, metrics, ownKey } = base;
  const core = coreOf(base, () => active, {
    turns: () => turns,
    exchanges: () => server.exchanges,
    observer: () => features.observer,
  });
  const features: OpenFeatures = await openFeatures(FEATURES, core, { config, metrics, parts });
  const { offers, observer } = features;
  /** The backend is opened last: those who end its turns are there before it, and close after it. */
  const active = await openActiveBackend(base, { ...deps, mcp: offers.mcp });
  parts.add('backend', { close: () => active.close(LAST_INTERRUPTS_MS) });
  const turns: TurnDeps = turnDeps(base, { core, active, offers });
  const server: HttpServer = createServer({
    routes: features.routesWith(
      routesOf({
        turns,
        active,
        base,
        hasConsole: offers.hasConsole,
        exchanges: () => server.exchanges,
      }),
    ),
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
  features.start();
  return {
    fetch: server.fetch,
    upgrades: features.upgrades,
    refuse: (failed, origin) => server.refuse(failed, origin),
    state: () => active.backend.state,
    standardModel: async () => (await active.models.names()).list.standard,
    workers: () => active.backend.workers(),
    store: describeStore(config.state),
    ownKey,
    codex: () => base.codexWatch.report(),
    answersUnderWay: () => server.exchanges.count,
    async stop(timeoutMs) {
      const requests = { name: 'requests', drain: (ms: number) => server.exchanges.drain(ms) };
      await drainAll([...features.running, requests], timeoutMs, (err) =>
        logger.error({ err }, 'could not wait for running requests'),
      );
      await parts.close();
    },
  };
};

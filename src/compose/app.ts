import type { Config } from '../config/schema.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';
import type { Upgrades } from '../http/listen/upgrade.ts';
import type { HttpServer } from '../http/server.ts';
import { openActiveBackend, type ActiveBackendDeps, type Backend } from './backend.ts';
import type { BackendState } from './banner.ts';
import { openBase, openServer, type Base, type BaseDeps } from './core.ts';
import { FEATURES } from './features.ts';
import { drainAll, OpenParts } from './open-features.ts';
import { describeStore } from './open-store.ts';
import type { WarmUpEnd, WarmUpHooks } from './warm-up.ts';

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
  /** Has the code of requests compiled before clients need it. Resolves at its end; null: it is switched off. */
  warmUp(hooks?: WarmUpHooks): Promise<WarmUpEnd | null>;
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
  const { config, logger, ownKey } = base;
  const { http, features, active } = await openServer(base, {
    features: FEATURES,
    parts,
    async openBackend({ mcp }) {
      const opened = await openActiveBackend(base, { ...deps, mcp });
      parts.add('backend', { close: () => opened.close(LAST_INTERRUPTS_MS) });
      return opened;
    },
  });
  features.start();
  const stopping = new AbortController();
  let warming: Promise<unknown> = Promise.resolve();
  return {
    fetch: http.fetch,
    upgrades: features.upgrades,
    refuse: (failed, origin) => http.refuse(failed, origin),
    state: () => active.backend.state,
    standardModel: async () => (await active.models.names()).list.standard,
    workers: () => active.backend.workers(),
    store: describeStore(config.state),
    ownKey,
    codex: () => base.codexWatch.report(),
    answersUnderWay: () => http.exchanges.count,
    async warmUp(hooks) {
      if (config.worker.warmUp === 'off') return null;
      const { runWarmUp } = await import('./warm-up.ts');
      const lastClientAt = (): number => http.exchanges.lastClientAt;
      const ended = runWarmUp({ ...hooks, base, lastClientAt, signal: stopping.signal });
      warming = ended;
      return ended;
    },
    async stop(timeoutMs) {
      stopping.abort();
      const requests = { name: 'requests', drain: (ms: number) => http.exchanges.drain(ms) };
      await drainAll([...features.running, requests], timeoutMs, (err) =>
        logger.error({ err }, 'could not wait for running requests'),
      );
      await warming;
      await parts.close();
    },
  };
};

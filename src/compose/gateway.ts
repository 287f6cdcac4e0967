import type { Config } from '../config/schema.ts';
import type { ConsoleDeps } from '../http/console/routes.ts';
import { acceptSessions } from '../http/console/session-authenticator.ts';
import type { OwnKey } from '../http/guards/api-key-file.ts';
import { createAuthenticator, type Authenticator } from '../http/guards/authenticate.ts';
import { createCors, type Cors } from '../http/guards/cors.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { allObservers, type RequestObserver } from '../observe/request-observer.ts';
import type { Store } from '../store/store.ts';
import { openConsole } from './console.ts';
import { OPEN_GATE, type TurnGate } from '../turns/turn-gate.ts';

export interface GatewayDeps {
  /** The key of an installation without a configured one. */
  readonly ownKey: OwnKey | null;
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Who may use the server, how much, and what is known about it. */
export interface Gateway {
  /** Null: not served. */
  readonly console: ConsoleDeps | null;
  readonly authenticate: Authenticator;
  readonly cors: Cors;
  readonly gate: TurnGate;
  /** Watches every request. */
  readonly observer: RequestObserver;
  close(): Promise<void>;
}

export const openGateway = async (config: Config, deps: GatewayDeps): Promise<Gateway> => {
  const { http } = config;
  const { ownKey, store, logger, metrics } = deps;
  const byKey = createAuthenticator(ownKey === null ? http.apiKeys : [ownKey.key]);
  const console = openConsole(http.console, byKey, store);
  return {
    console,
    authenticate: console === null ? byKey : acceptSessions(byKey, console.sessions, console.mode),
    cors: createCors(http.corsAllowedOrigins),
    gate: OPEN_GATE,
    observer: allObservers([], (err) => {
      metrics.observerErrors.inc();
      logger.error({ err }, 'observer of requests failed');
    }),
    async close() {},
  };
};

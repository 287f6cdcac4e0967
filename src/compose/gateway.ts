import type { Config } from '../config/schema.ts';
import type { ConsoleDeps } from '../http/console/routes.ts';
import { acceptSessions } from '../http/console/session-authenticator.ts';
import { createCors, type Cors } from '../http/guards/cors.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { Store } from '../store/store.ts';
import type { Api } from '../turns/api.ts';
import { openConsole } from './console.ts';
import type { Offers } from './feature.ts';
import { openRequestLog, type OpenRequestLog } from './request-log.ts';

export interface GatewayDeps {
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly apis: readonly Api[];
  readonly offers: Offers;
}

/** Who may use the server, and what is known about its requests. */
export interface Gateway extends Offers {
  /** Null: not served. */
  readonly console: ConsoleDeps | null;
  readonly cors: Cors;
  /** They watch every request. */
  readonly observers: readonly RequestObserver[];
  /** What is known about requests. */
  readonly requests: OpenRequestLog;
  close(): Promise<void>;
}

export const openGateway = (config: Config, deps: GatewayDeps): Gateway => {
  const { http } = config;
  const { store } = deps;
  const { authenticate: byKey, keyName } = deps.offers;
  const console = openConsole(http, { byKey, keyName, store });
  const requests = openRequestLog(config, { ...deps, keyNames: keyName });
  return {
    ...deps.offers,
    console,
    requests,
    authenticate: console === null ? byKey : acceptSessions(byKey, console.sessions, console.mode),
    cors: createCors(http.corsAllowedOrigins),
    observers: [requests.log],
    close: () => requests.log.close(),
  };
};

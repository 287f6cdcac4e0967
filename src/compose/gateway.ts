import type { Config } from '../config/schema.ts';
import { createCors, type Cors } from '../http/guards/cors.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { Store } from '../store/store.ts';
import type { Api } from '../turns/api.ts';
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
  readonly cors: Cors;
  /** They watch every request. */
  readonly observers: readonly RequestObserver[];
  /** What is known about requests. */
  readonly requests: OpenRequestLog;
  close(): Promise<void>;
}

export const openGateway = (config: Config, deps: GatewayDeps): Gateway => {
  const { offers } = deps;
  const requests = openRequestLog(config, { ...deps, keyNames: offers.keyName });
  return {
    ...offers,
    requests,
    cors: createCors(config.http.corsAllowedOrigins),
    observers: [requests.log],
    close: () => requests.log.close(),
  };
};

import { hostname } from 'node:os';

import type { Config } from '../config/schema.ts';
import { printMessage, type KeyNames } from '../http/requests/project.ts';
import { turnApis } from '../http/routes/table.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { LogWriter } from '../requests/log-writer.ts';
import { RequestLog } from '../requests/request-log.ts';
import type { Api } from '../turns/api.ts';
import type { Store } from '../store/store.ts';

export interface RequestLogParts {
  readonly store: Store | null;
  readonly apis: readonly Api[];
  readonly keyNames: KeyNames;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

export interface OpenRequestLog {
  readonly log: RequestLog;
  /** The id of this server in the log. */
  readonly instance: string;
  readonly keyNames: KeyNames;
}

const DAY_MS = 24 * 60 * 60_000;
/** In memory, for the time in which a store cannot be read, or there is none. */
const MAX_IN_MEMORY = 500;
const INSTANCE_DIGITS = 6;

/** The log of requests: in the store, or without one in memory. */
export const openRequestLog = (
  { state }: Config,
  { store, apis, keyNames, logger, metrics }: RequestLogParts,
): OpenRequestLog => {
  const { requestLogRows: maxRows, requestLogDays } = state;
  const { ids } = systemAmbient;
  const instance = `${hostname().slice(0, 64)}-${ids.mint('').slice(1, 1 + INSTANCE_DIGITS)}`;
  const kept =
    store === null || maxRows === 0
      ? null
      : {
          store: store.requests,
          ttlMs: requestLogDays * DAY_MS,
          writer: new LogWriter({
            store: store.requests,
            maxRows,
            onLost: (reason, rows) => metrics.requestLogLost.inc({ reason }, rows),
            onError: (err) => logger.warn({ err }, 'the request log could not be written; trying again'),
          }),
        };
  const log = new RequestLog({
    ambient: systemAmbient,
    instance,
    turnPaths: new Set(turnApis(apis).map(({ path }) => path)),
    maxInMemory: Math.min(maxRows, MAX_IN_MEMORY),
    kept,
    print: (message) => printMessage(message, keyNames),
    onSkipped: (reason) => metrics.requestLogLost.inc({ reason }),
  });
  return { log, instance, keyNames };
};

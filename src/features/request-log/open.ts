import { hostname } from 'node:os';

import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { partOf } from '../../store/part.ts';
import type { Store } from '../../store/store.ts';
import type { REQUEST_LOG_TABLES } from './feature.ts';
import { createReaderPlaces } from './live-feed.ts';
import { LogWriter } from './log-writer.ts';
import { printMessage } from './project.ts';
import { RequestLog, type KeptRequests } from './request-log.ts';
import { requestRoutes } from './routes.ts';
import { requestStore } from './store.ts';

const DAY_MS = 24 * 60 * 60_000;
/** In memory, for the time in which a store cannot be read, or there is none. */
const MAX_IN_MEMORY = 500;
const INSTANCE_DIGITS = 6;

/** The log of requests: in the store, or without one in memory. */
export const openRequestLog = async (
  core: Core,
  own: Own<typeof REQUEST_LOG_TABLES>,
): Promise<OpenFeature<typeof REQUEST_LOG_TABLES>> => {
  const { ambient, apis, store } = core;
  const { settings, metrics, offers } = own;
  const { requestLogRows: maxRows } = settings;
  const instance = `${hostname().slice(0, 64)}-${ambient.ids.mint('').slice(1, 1 + INSTANCE_DIGITS)}`;
  const log = new RequestLog({
    ambient,
    instance,
    turnPaths: new Set(apis.map(({ path }) => path)),
    maxInMemory: Math.min(maxRows, MAX_IN_MEMORY),
    kept: store === null || maxRows === 0 ? null : keptIn(store, core, own),
    print: (message) => printMessage(message, offers.keyName),
    onSkipped: (reason) => metrics.requestLogLost.inc({ reason }),
  });
  return {
    observer: log,
    routes: requestRoutes({
      log,
      instance,
      apis,
      keyNames: offers.keyName,
      captured: offers.captures,
      authenticate: offers.authenticate,
      readers: createReaderPlaces({ clock: ambient.clock, isAdmin: offers.isAdmin }),
      turns: () => core.turns(),
      exchanges: () => core.exchanges(),
    }),
    // Its readers would keep the server from stopping.
    drain: async () => log.feed.close(),
    close: () => log.close(),
  };
};

const keptIn = (
  opened: Store,
  { logger }: Core,
  { settings, metrics }: Own<typeof REQUEST_LOG_TABLES>,
): KeptRequests => {
  const store = partOf(opened, requestStore);
  return {
    store,
    ttlMs: settings.requestLogDays * DAY_MS,
    writer: new LogWriter({
      store,
      maxRows: settings.requestLogRows,
      onLost(reason, rows) {
        metrics.requestLogLost.inc({ reason }, rows);
        if (reason === 'stop') logger.error({ rows }, 'the log of the last requests could not be stored');
      },
      onError: (err) => logger.warn({ err }, 'the request log could not be written; trying again'),
    }),
  };
};

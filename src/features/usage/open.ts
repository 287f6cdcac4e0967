import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { partOf } from '../../store/part.ts';
import type { TABLES } from './feature.ts';
import { MemoryUsage } from './memory-usage.ts';
import { usageRoutes } from './routes.ts';
import { usageStore } from './store.ts';
import { DAY_MS } from './usage-counts.ts';
import { UsageReader } from './usage-reader.ts';
import { UsageRecorder } from './usage-recorder.ts';

/** Records what keys use, in the store, or in memory if nothing is stored. */
export const openUsage = async (
  { ambient, apis, store, logger }: Core,
  { settings, metrics, offers: { limitsOf } }: Own<typeof TABLES>,
): Promise<OpenFeature<typeof TABLES>> => {
  const { clock } = ambient;
  const usage = store === null ? new MemoryUsage(clock) : partOf(store, usageStore);
  const recorder = new UsageRecorder({
    store: usage,
    ambient,
    turnPaths: new Set(apis.map(({ path }) => path)),
    ttlMs: settings.usageDays * DAY_MS,
    onLost(requests, reason) {
      metrics.usageLost.inc({ reason }, requests);
      if (reason === 'stop') logger.error({ requests }, 'the usage of the last requests could not be stored');
    },
    onError: (err) => logger.warn({ err }, 'usage could not be stored; trying again'),
  });
  const reader = new UsageReader({
    store: usage,
    flush: () => recorder.flush(),
    clock,
    recordedSince: store === null ? clock.now() : null,
  });
  return {
    observer: recorder,
    routes: usageRoutes({ usage: reader, limitsOf }),
    close: () => recorder.stop(),
  };
};

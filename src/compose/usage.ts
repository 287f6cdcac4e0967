import type { Config } from '../config/schema.ts';
import { atCodexPaths } from '../http/codex/own-paths.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Store } from '../store/store.ts';
import type { Api } from '../turns/api.ts';
import { MemoryUsage } from '../usage/memory-usage.ts';
import { DAY_MS } from '../usage/usage-hours.ts';
import { UsageReader } from '../usage/usage-reader.ts';
import { UsageRecorder } from '../usage/usage-recorder.ts';

export interface OpenUsage {
  readonly recorder: UsageRecorder;
  readonly reader: UsageReader;
}

export interface UsageParts {
  readonly apis: readonly Api[];
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly logger: Logger;
  readonly metrics: Metrics;
}

/** Records what keys use, in the store, or in memory if nothing is stored. */
export const openUsage = (config: Config, { apis, store, logger, metrics }: UsageParts): OpenUsage => {
  const { clock } = systemAmbient;
  const usage = store?.usage ?? new MemoryUsage(clock);
  const recorder = new UsageRecorder({
    store: usage,
    ambient: systemAmbient,
    turnPaths: new Set([...apis, ...atCodexPaths(apis)].map(({ path }) => path)),
    ttlMs: config.state.usageDays * DAY_MS,
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
  return { recorder, reader };
};

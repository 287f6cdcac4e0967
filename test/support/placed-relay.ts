import { Refusals } from '../../src/codex/capabilities/refusals.ts';
import type { BackendTarget } from '../../src/codex/home/backend.ts';
import { loadConfig } from '../../src/compose/features.ts';
import { createLogger, type Logger, type LogOptions } from '../../src/observe/log.ts';
import { createMetrics } from '../../src/observe/metrics.ts';
import { placeRelay, type PlacedRelay } from '../../src/compose/relay.ts';
import { cacheIds } from './cache-ids.ts';
import { NO_LOGIN } from './no-login.ts';

interface Logged extends PlacedRelay {
  /** The lines of the log. */
  readonly log: readonly string[];
  readonly logger: Logger;
}

interface Surroundings {
  readonly settings?: Readonly<Record<string, string>>;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

/** A relay to this backend, with its own log. */
export const placeLogged = async (
  backend: BackendTarget,
  level: LogOptions['level'],
  { settings = {}, environment = {} }: Surroundings = {},
): Promise<Logged> => {
  const { upstream } = loadConfig(settings);
  const log: string[] = [];
  const logger = createLogger({ level, destination: { write: (line) => void log.push(line) } });
  const placed = await placeRelay(backend, {
    config: upstream,
    wire: upstream.wire,
    environment,
    login: NO_LOGIN,
    cacheIds,
    refusals: new Refusals({ now: () => 0 }),
    logger,
    metrics: createMetrics(),
    onBlocked() {},
    onServed() {},
  });
  return { ...placed, log, logger };
};

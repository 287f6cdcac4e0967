import { agents } from '../features/agents/feature.ts';
import { captures } from '../features/captures/feature.ts';
import { webConsole } from '../features/console/feature.ts';
import { forwarding } from '../features/forwarding/feature.ts';
import { namedKeys } from '../features/keys/feature.ts';
import { mcp } from '../features/mcp/feature.ts';
import { requestLog } from '../features/request-log/feature.ts';
import { webSignIn } from '../features/sign-in/feature.ts';
import { storedState } from '../features/state/feature.ts';
import { telemetry } from '../features/telemetry/feature.ts';
import { usage } from '../features/usage/feature.ts';
import { websocket } from '../features/websocket/feature.ts';
import type { Feature } from './feature.ts';
import { FAILURES } from '../canonical/failure/failure-catalogue.ts';
import type { CatalogueEntry } from '../canonical/failure/catalogue-row.ts';
import { readConfig } from '../config/load.ts';
import { SETTINGS, type Config } from '../config/schema.ts';
import type { SettingTable } from '../config/setting-row.ts';
import { mergeRows } from '../kit/collections/merge-rows.ts';
import { METRICS } from '../observe/metrics.ts';
import type { MetricTable } from '../observe/metric-row.ts';

/** The features of the server, in the order in which they are opened. They are closed in reverse. */
export const FEATURES: readonly Feature[] = [
  telemetry,
  namedKeys,
  storedState,
  usage,
  captures,
  webConsole,
  requestLog,
  forwarding,
  agents,
  mcp,
  webSignIn,
  websocket,
];

/** What watches and allows requests, and can do so in memory: for a server that keeps nothing. */
export const STORELESS: readonly Feature[] = [namedKeys, storedState, usage, requestLog];

/** The tables of the server with the rows of its features. */

export const ALL_SETTINGS: SettingTable = mergeRows<SettingTable[string]>(
  SETTINGS,
  FEATURES.map(({ settings = {} }) => settings),
);

export const ALL_FAILURES: Readonly<Record<string, CatalogueEntry>> = mergeRows<CatalogueEntry>(
  FAILURES,
  FEATURES.map(({ failures = {} }) => failures),
);

export const ALL_METRICS: MetricTable = mergeRows<MetricTable[string]>(
  METRICS,
  FEATURES.map(({ metrics = {} }) => metrics),
);

/** Reads all settings. Throws `ConfigError` if anything is not allowed. */
export const loadConfig = (environment: Readonly<Record<string, string | undefined>>): Config =>
  readConfig(environment, ALL_SETTINGS);

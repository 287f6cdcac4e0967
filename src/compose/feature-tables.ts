import { FAILURES } from '../canonical/failure/failure-catalogue.ts';
import type { CatalogueEntry } from '../canonical/failure/catalogue-row.ts';
import { readConfig } from '../config/load.ts';
import { SETTINGS, type Config } from '../config/schema.ts';
import type { SettingTable } from '../config/setting-row.ts';
import { mergeRows } from '../kit/collections/merge-rows.ts';
import { METRICS } from '../observe/metrics.ts';
import type { MetricTable } from '../observe/metric-row.ts';
import { FEATURES } from './features.ts';

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

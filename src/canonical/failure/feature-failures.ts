import type { CatalogueEntry } from './catalogue-row.ts';
import { failureFrom, GatewayError, type FailureDetails } from './failure.ts';

/** The errors of a feature, by their codes. */
export type FeatureFailures = Readonly<Record<string, CatalogueEntry>>;

/** Makes the errors of a feature's table. */
export const featureErrors =
  <Table extends FeatureFailures>(table: Table) =>
  (kind: keyof Table & string, details: FailureDetails = {}): GatewayError =>
    new GatewayError(failureFrom(kind, table[kind] as CatalogueEntry, details));

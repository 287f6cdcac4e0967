import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import type { Difference } from './exact-differences.ts';

/** The requests are drawn from a seed. `EXACT_RUNS` sets their number, `EXACT_SEED` the seed. */
export const RUNS = Number(process.env['EXACT_RUNS'] ?? 20);
export const SEED = Number(process.env['EXACT_SEED'] ?? 9);
/** More runs need more time. */
export const TIMEOUT_MS = 60_000 + RUNS * 2_000;

/** The client's body as it should arrive. */
export const expectedOf = (
  request: JsonObject,
  arrived: JsonObject,
  rows: readonly Difference[],
): JsonObject => rows.reduce((own, row) => row.apply(own, arrived), request);

/** As text with sorted keys: a schema may have a key named `constructor`. */
export const printed = (body: JsonObject): string =>
  JSON.stringify(
    body,
    (_, value: Json) =>
      isJsonObject(value) ? Object.fromEntries(Object.entries(value).toSorted(byFirst)) : value,
    1,
  );
const byFirst = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1;

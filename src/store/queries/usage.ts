import { sql } from 'kysely';

import { LatencyBuckets } from '../../kit/collections/log-histogram.ts';
import { read, write, type OperationsOf, type Query } from '../operation.ts';
import type { UsageTable } from '../tables.ts';
import type {
  UsageCounts,
  UsageGroup,
  UsageLatency,
  UsageRange,
  UsageRow,
  UsageStore,
  UsageSum,
} from '../ports/usage.ts';
import { inParts } from './expressions.ts';

const COUNTS = {
  requests: 'requests',
  clientErrors: 'client_errors',
  limitErrors: 'limit_errors',
  upstreamErrors: 'upstream_errors',
  serverErrors: 'server_errors',
  cancelled: 'cancelled',
  inputTokens: 'input_tokens',
  cachedTokens: 'cached_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  imageInputTokens: 'image_input_tokens',
  imageOutputTokens: 'image_output_tokens',
  durationMs: 'duration_ms',
} as const satisfies Readonly<Record<keyof UsageCounts, keyof UsageTable>>;

const NAMES = Object.keys(COUNTS) as (keyof UsageCounts)[];
/** The columns that a later write of the same row changes. */
const CHANGING = [...Object.values(COUNTS), 'first_events', 'durations'] as const;

const GROUPS = { keyId: 'key_id', model: 'model', client: 'client' } as const satisfies Readonly<
  Record<UsageGroup, keyof UsageTable>
>;

const toTable = (row: UsageRow): UsageTable => ({
  id: row.id,
  hour: row.hour,
  key_id: row.keyId,
  model: row.model,
  client: row.client,
  expires_at: row.expiresAt,
  ...(Object.fromEntries(NAMES.map((name) => [COUNTS[name], row[name]])) as Pick<
    UsageTable,
    (typeof COUNTS)[keyof UsageCounts]
  >),
  first_events: row.firstEvents,
  durations: row.durations,
});

const put = async ({ db }: Query, rows: readonly UsageRow[]): Promise<void> => {
  if (rows.length === 0) return;
  await db
    .insertInto('usage')
    .values(rows.map(toTable))
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet((of) =>
          Object.fromEntries(CHANGING.map((column) => [column, of.ref(`excluded.${column}`)])),
        )
        .whereRef('usage.requests', '<', 'excluded.requests'),
    )
    .execute();
};

const within = ({ db, now }: Query, { from, to, keyIds }: UsageRange) => {
  const rows = db
    .selectFrom('usage')
    .where('hour', '>=', from)
    .where('hour', '<', to)
    .where('expires_at', '>', now);
  return keyIds === null ? rows : rows.where('key_id', 'in', inParts(keyIds)[0] ?? ['']);
};

/** A number, not a parameter: PostgreSQL compares the expressions of `select` and `group by`. */
const bucketOf = (width: number) => sql<number>`hour - hour % ${sql.lit(width)}`;

const sums = async (
  query: Query,
  { models, by, limit, ...range }: Parameters<UsageStore['sums']>[0],
): Promise<readonly UsageSum[]> => {
  const bucket = bucketOf(range.width);
  let rows = within(query, range)
    .select(bucket.as('start'))
    .select(NAMES.map((name) => sql<number>`cast(sum(${sql.ref(COUNTS[name])}) as bigint)`.as(name)))
    .groupBy(bucket)
    .orderBy(bucket);
  for (const group of by) {
    const column = GROUPS[group];
    rows = rows.select(`${column} as ${group}`).groupBy(column).orderBy(column);
  }
  if (models !== null) rows = rows.where('model', 'in', inParts(models)[0] ?? ['']);
  const found = (await rows.limit(limit).execute()) as readonly (Pick<UsageSum, 'start'> &
    UsageCounts &
    Partial<UsageSum>)[];
  return found.map((row) => ({ keyId: null, model: null, client: null, ...row }));
};

const DAY_MS = 24 * 60 * 60_000;

/** Reads one day after the other, so that few rows are in memory at the same time. */
const latencies = async (query: Query, range: UsageRange): Promise<readonly UsageLatency[]> => {
  const buckets = new LatencyBuckets();
  for (let from = range.from; from < range.to; from += DAY_MS) {
    const day = { ...range, from, to: Math.min(from + DAY_MS, range.to) };
    const rows = await within(query, day)
      .select(bucketOf(range.width).as('start'))
      .select(['first_events', 'durations'])
      .where('durations', '!=', '')
      .execute();
    for (const { start, first_events, durations } of rows) {
      buckets.add(start, { firstEvents: first_events, durations });
    }
  }
  return buckets.sums();
};

export const usageOperations: OperationsOf<UsageStore> = {
  put: write(put),
  sums: read(sums),
  latencies: read(latencies),
};

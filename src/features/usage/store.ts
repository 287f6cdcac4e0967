import { sql } from 'kysely';

import { LatencyBuckets } from '../../kit/collections/log-histogram.ts';
import type { Migration } from '../../store/migrations/migration.ts';
import { read, write, type Query } from '../../store/operation.ts';
import type { StorePart, TableNotes } from '../../store/part.ts';
import { inParts } from '../../store/queries/expressions.ts';
import { deleteExpired } from '../../store/queries/expressions.ts';

/** What requests used, added up. The recorder and the database have one column for each. */
export interface UsageCounts {
  readonly requests: number;
  /** Rejected for what the client sent. */
  readonly clientErrors: number;
  /** Rejected by a limit: of the key, of this server or of the backend. */
  readonly limitErrors: number;
  readonly upstreamErrors: number;
  readonly serverErrors: number;
  /** The client disconnected, or cancelled the response. */
  readonly cancelled: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Of the image model; not included in the other tokens. */
  readonly imageInputTokens: number;
  readonly imageOutputTokens: number;
  /** Of the requests that were answered. */
  readonly durationMs: number;
}

/** What a usage row is about. */
export interface UsageLabels {
  /** The start of the hour in which the requests ended. */
  readonly hour: number;
  readonly keyId: string;
  readonly model: string;
  readonly client: string;
}

/** The usage of one process. Several rows may have the same labels; their sum counts. */
export interface UsageRow extends UsageLabels, UsageCounts {
  readonly id: string;
  /** Encoded `LogHistogram`s of milliseconds. */
  readonly firstEvents: string;
  readonly durations: string;
  readonly expiresAt: number;
}

/** Which usage is asked for. Hours from `from` up to `to`, which is excluded. */
export interface UsageRange {
  readonly from: number;
  readonly to: number;
  /** In milliseconds, a multiple of an hour; counted from the Unix epoch. */
  readonly width: number;
  /** Null: of all keys; at most 100. */
  readonly keyIds: readonly string[] | null;
}

export type UsageGroup = 'keyId' | 'model' | 'client';

/** A label is null unless it was grouped by. */
export interface UsageSum extends UsageCounts {
  /** The start of its bucket. */
  readonly start: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly client: string | null;
}

export interface UsageStore {
  /**
   * Writes totals. A row with the same id is replaced if it has fewer requests, so that neither repeating a write nor a
   * late one does harm.
   */
  put(rows: readonly UsageRow[]): Promise<void>;
  /** The sums of each bucket and group, in the order of the buckets; at most `limit`. Buckets without usage are missing. */
  sums(
    range: UsageRange & {
      /** Null: of all models; at most 100. */
      readonly models: readonly string[] | null;
      readonly by: readonly UsageGroup[];
      readonly limit: number;
    },
  ): Promise<readonly UsageSum[]>;
  /** The histograms of each bucket that has any. */
  latencies(range: UsageRange): Promise<readonly UsageLatency[]>;
}

export interface UsageLatency {
  readonly start: number;
  readonly firstEvents: string;
  readonly durations: string;
}

const usageTable: Migration = ({ text }) => [
  `create table usage (
    id ${text} primary key,
    hour bigint not null,
    key_id ${text} not null,
    model ${text} not null,
    client ${text} not null,
    expires_at bigint not null,
    requests bigint not null,
    client_errors bigint not null,
    limit_errors bigint not null,
    upstream_errors bigint not null,
    server_errors bigint not null,
    cancelled bigint not null,
    input_tokens bigint not null,
    cached_tokens bigint not null,
    cache_write_tokens bigint not null,
    output_tokens bigint not null,
    reasoning_tokens bigint not null,
    image_input_tokens bigint not null,
    image_output_tokens bigint not null,
    duration_ms bigint not null,
    first_events ${text} not null,
    durations ${text} not null
  )`,
  'create index usage_hours on usage (hour)',
  'create index usage_keys on usage (key_id, hour)',
  'create index usage_expiry on usage (expires_at)',
];

/** What one process served in an hour for a key, model and client. */
interface UsageTable {
  id: string;
  hour: number;
  key_id: string;
  model: string;
  client: string;
  expires_at: number;
  requests: number;
  client_errors: number;
  limit_errors: number;
  upstream_errors: number;
  server_errors: number;
  cancelled: number;
  input_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  image_input_tokens: number;
  image_output_tokens: number;
  duration_ms: number;
  /** Histograms of milliseconds. */
  first_events: string;
  durations: string;
}

type UsageQuery = Query<{ usage: UsageTable }>;

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

const put = async ({ db }: UsageQuery, rows: readonly UsageRow[]): Promise<void> => {
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

const within = ({ db, now }: UsageQuery, { from, to, keyIds }: UsageRange) => {
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
  query: UsageQuery,
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
const latencies = async (query: UsageQuery, range: UsageRange): Promise<readonly UsageLatency[]> => {
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

/** For docs/store-schema.md. */
const TABLES: TableNotes<{ usage: UsageTable }> = {
  usage: {
    after: 'limit_reservations',
    isSwept: true,
    about:
      'What a server process served in an hour for a key, model and client. Rows with the same labels are added up when they are read.',
    columns: {
      id: '',
      hour: 'the start of the hour in which the requests ended',
      key_id: 'the id of the API key',
      model:
        'as the request named it; `other` for more than 50 names of a key in an hour; empty: the request failed before it was known',
      client: 'the detected client; empty: the same',
      expires_at: '',
      requests: '',
      client_errors: 'rejected for what the client sent',
      limit_errors: 'answered with 429',
      upstream_errors: 'failures of the backend, or of the account at it',
      server_errors: 'failures of this server',
      cancelled: 'the client disconnected or cancelled',
      input_tokens: '',
      cached_tokens: 'of the input',
      cache_write_tokens: 'of the input',
      output_tokens: '',
      reasoning_tokens: 'of the output',
      image_input_tokens: 'of the image model; in no other column',
      image_output_tokens: 'the same',
      duration_ms: 'the sum of the durations of answered requests',
      first_events:
        'a histogram of the milliseconds to the first event: `bucket:count`, each bucket 19 % wider than the one before',
      durations: 'the same for the whole durations',
    },
  },
};

export const usageStore: StorePart<UsageStore> = {
  name: 'usage',
  operations: { put: write(put), sums: read(sums), latencies: read(latencies) },
  migrations: { 6: usageTable },
  sweep: (query, limit) => deleteExpired(query, 'usage', limit),
  tables: TABLES,
};

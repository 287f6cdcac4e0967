import type { DatabaseKind, Migration } from '../migrations/migration.ts';
import { read, type Query } from '../operation.ts';
import type { StorePart, TableNotes } from '../part.ts';
import type { KeptStore } from '../store.ts';
import type { KeptBytesTable } from '../tables.ts';

const bytesOfOwner = async ({ db }: Query, owner: string): Promise<number> => {
  const rows = await db.selectFrom('kept_bytes').select('bytes').where('owner', '=', owner).execute();
  return rows.reduce((sum, row) => sum + row.bytes, 0);
};

const keptBytes: Migration = ({ text, byKeyAlone }) => [
  `create table kept_bytes (
    owner ${text} not null,
    shard integer not null,
    bytes bigint not null,
    primary key (owner, shard)
  ) ${byKeyAlone}`,
];

/**
 * For a migration: counts the rows of a table, which has the column `owner`, and their large columns from now on. Triggers
 * count them, so that every way to write or delete a row is counted, in the same transaction: also cascades, the sweep, and
 * an earlier version of this program that still runs. In PostgreSQL a key has several counters, one of which a connection
 * uses, so that its writers do not wait for each other.
 */
export const countKept = (
  kind: DatabaseKind,
  table: string,
  columns: readonly string[],
): readonly string[] => [
  ...TRIGGERS[kind](table, columns),
  `insert into kept_bytes (owner, shard, bytes)
    select owner, 0, sum(${bytesOf(columns)}) from ${table} where owner is not null group by owner
    on conflict (owner, shard) do update set bytes = kept_bytes.bytes + excluded.bytes`,
];

/** What a row takes besides its texts: its other columns and its entries in indices, approximately. */
const ROW_BYTES = 500;

/** `row`: `old.` or `new.` in a trigger. Neither database reads a stored text for its length. */
const bytesOf = (columns: readonly string[], row = ''): string =>
  [ROW_BYTES, ...columns.map((column) => `coalesce(octet_length(${row}${column}), 0)`)].join(' + ');

const add = (owner: string, bytes: string, shard: string): string =>
  `insert into kept_bytes (owner, shard, bytes) values (${owner}, ${shard}, ${bytes})
    on conflict (owner, shard) do update set bytes = kept_bytes.bytes + excluded.bytes`;

type Triggers = (table: string, columns: readonly string[]) => readonly string[];

const TRIGGERS: Readonly<Record<DatabaseKind, Triggers>> = {
  sqlite: (table, columns) => {
    const trigger = (when: string, row: 'old' | 'new', bytes: string): string =>
      `create trigger ${table}_kept_${when.slice(0, 6)} after ${when} on ${table} when ${row}.owner is not null begin
        ${add(`${row}.owner`, bytes, '0')};
      end`;
    return [
      trigger('insert', 'new', bytesOf(columns, 'new.')),
      trigger('delete', 'old', `-(${bytesOf(columns, 'old.')})`),
      trigger(
        `update of ${columns.join(', ')}`,
        'new',
        `(${bytesOf(columns, 'new.')}) - (${bytesOf(columns, 'old.')})`,
      ),
    ];
  },
  postgres: (table, columns) => {
    const shard = `pg_backend_pid() % ${SHARDS}`;
    const name = `${table}_kept`;
    return [
      `create function ${name}() returns trigger language plpgsql as $$
      begin
        if tg_op = 'INSERT' then
          ${add('new.owner', bytesOf(columns, 'new.'), shard)};
        elsif tg_op = 'DELETE' then
          ${add('old.owner', `-(${bytesOf(columns, 'old.')})`, shard)};
        else
          ${add('new.owner', `(${bytesOf(columns, 'new.')}) - (${bytesOf(columns, 'old.')})`, shard)};
        end if;
        return null;
      end $$`,
      ...(['insert', 'delete', `update of ${columns.join(', ')}`] as const).map(
        (when) =>
          `create trigger ${name}_${when.slice(0, 6)} after ${when} on ${table} for each row
            when (${when === 'delete' ? 'old' : 'new'}.owner is not null) execute function ${name}()`,
      ),
    ];
  },
};

/** More than connections that usually write for one key at the same time. */
const SHARDS = 16;

const NOTES: TableNotes<{ kept_bytes: KeptBytesTable }> = {
  kept_bytes: {
    after: 'usage',
    about:
      'How many bytes are kept for an API key: the sum of its rows. Triggers on `segments`, `turns`, `responses`, `run_events`, `chat_completions`, `agents`, `agent_sessions`, `agent_turns`, `agent_items` and `agent_events` count the sealed columns, and 500 bytes for each row.',
    columns: {
      owner: '',
      shard:
        'each connection to PostgreSQL uses one of 16, so that writers do not wait for each other; SQLite uses 0',
      bytes: 'may be negative: a row may be deleted by another connection than the one that wrote it',
    },
  },
};

export const keptStore: StorePart<KeptStore> = {
  name: 'kept',
  operations: { bytes: read(bytesOfOwner) },
  migrations: { 7: keptBytes },
  tables: NOTES,
};

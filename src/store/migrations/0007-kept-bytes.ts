import type { DatabaseKind, Migration } from './migration.ts';

/** What a row takes besides its texts: its other columns and its entries in indices, approximately. */
const ROW_BYTES = 500;

/** The tables whose rows belong to an API key, with their large columns. */
const COUNTED = {
  segments: ['cache_key', 'body'],
  turns: ['body'],
  responses: ['body'],
  run_events: ['body'],
  chat_completions: ['metadata', 'body', 'messages'],
} as const;

type Counted = keyof typeof COUNTED;

/**
 * How many bytes are kept for each API key. Triggers count them, so that every way to write or delete a row is counted, in
 * the same transaction: also cascades, the sweep, and an earlier version of this program that still runs. In PostgreSQL a
 * key has several counters, one of which a connection uses, so that its writers do not wait for each other.
 */
export const keptBytes: Migration = ({ kind, text, byKeyAlone }) => [
  // Null: a row of an earlier version, which lives for minutes and is not counted.
  `alter table run_events add column owner ${text}`,
  `create table kept_bytes (
    owner ${text} not null,
    shard integer not null,
    bytes bigint not null,
    primary key (owner, shard)
  ) ${byKeyAlone}`,
  ...(Object.keys(COUNTED) as readonly Counted[]).flatMap((table) => [
    ...TRIGGERS[kind](table),
    `insert into kept_bytes (owner, shard, bytes)
      select owner, 0, sum(${bytesOf(table)}) from ${table} where owner is not null group by owner
      on conflict (owner, shard) do update set bytes = kept_bytes.bytes + excluded.bytes`,
  ]),
];

/** `row`: `old.` or `new.` in a trigger. Neither database reads a stored text for its length. */
const bytesOf = (table: Counted, row = ''): string =>
  [ROW_BYTES, ...COUNTED[table].map((column) => `coalesce(octet_length(${row}${column}), 0)`)].join(' + ');

const add = (owner: string, bytes: string, shard: string): string =>
  `insert into kept_bytes (owner, shard, bytes) values (${owner}, ${shard}, ${bytes})
    on conflict (owner, shard) do update set bytes = kept_bytes.bytes + excluded.bytes`;

const TRIGGERS: Readonly<Record<DatabaseKind, (table: Counted) => readonly string[]>> = {
  sqlite: (table) => {
    const trigger = (when: string, row: 'old' | 'new', bytes: string): string =>
      `create trigger ${table}_kept_${when.slice(0, 6)} after ${when} on ${table} when ${row}.owner is not null begin
        ${add(`${row}.owner`, bytes, '0')};
      end`;
    return [
      trigger('insert', 'new', bytesOf(table, 'new.')),
      trigger('delete', 'old', `-(${bytesOf(table, 'old.')})`),
      trigger(
        `update of ${COUNTED[table].join(', ')}`,
        'new',
        `(${bytesOf(table, 'new.')}) - (${bytesOf(table, 'old.')})`,
      ),
    ];
  },
  postgres: (table) => {
    const shard = `pg_backend_pid() % ${SHARDS}`;
    const name = `${table}_kept`;
    return [
      `create function ${name}() returns trigger language plpgsql as $$
      begin
        if tg_op = 'INSERT' then
          ${add('new.owner', bytesOf(table, 'new.'), shard)};
        elsif tg_op = 'DELETE' then
          ${add('old.owner', `-(${bytesOf(table, 'old.')})`, shard)};
        else
          ${add('new.owner', `(${bytesOf(table, 'new.')}) - (${bytesOf(table, 'old.')})`, shard)};
        end if;
        return null;
      end $$`,
      ...(['insert', 'delete', `update of ${COUNTED[table].join(', ')}`] as const).map(
        (when) =>
          `create trigger ${name}_${when.slice(0, 6)} after ${when} on ${table} for each row
            when (${when === 'delete' ? 'old' : 'new'}.owner is not null) execute function ${name}()`,
      ),
    ];
  },
};

/** More than connections that usually write for one key at the same time. */
const SHARDS = 16;

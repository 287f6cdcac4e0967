import { expect, it } from 'vitest';

import { kyselyOn } from '../../src/store/connection-dialect.ts';
import { FEATURES } from '../../src/compose/features.ts';
import { STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { schemaWith } from '../../src/store/operations.ts';
import { migrate, schemaVersion } from '../../src/store/migrations/migrate.ts';
import type { StateTables } from '../../src/features/state/store/tables.ts';
import type { Tables } from '../../src/store/tables.ts';
import { commitChain, describeStores, KEYS, openDatabase, type Database } from '../support/store-harness.ts';

/** Kysely on a database without a store. */
const kyselyOf = ({ kind, query }: Database) => kyselyOn(kind, query);

/** Columns, types and indices, as the database itself lists them. */
const schemaOf = async ({ kind, sql }: Database): Promise<unknown> =>
  kind === 'sqlite'
    ? sql("select type, name, sql from sqlite_schema where name not like 'sqlite_%' order by name")
    : [
        await sql(
          "select table_name, column_name, data_type, collation_name, is_nullable from information_schema.columns where table_schema = 'public' order by 1, 2",
        ),
        await sql("select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1"),
      ];

/** Rows of version 1, one in each of its tables, with the values of later columns left to their migrations. */
const FIRST_ROWS = [
  "insert into segments (id, owner, kind, tip, cache_key, created_at, expires_at, sweep_at) values ('s', 'o', 'chain', 0, 'j', 0, 9, 9)",
  "insert into turns (segment_id, pos, key, owner, total_chars, body) values ('s', 0, 'k', 'o', 1, 'j')",
  "insert into item_index values ('o', 'i', 's', 0)",
  "insert into responses (id, owner, status, is_background, created_at, expires_at, body) values ('r', 'o', 'completed', 0, 0, 9, 'j')",
  "insert into run_events values ('r', 0, 0, 1, 9, 'j')",
  "insert into chat_completions values ('c', 'o', 'm', 0, 9, 'j', 'j', 'j')",
  "insert into chat_metadata values ('o', 'p', 'c')",
  "insert into memory values ('reasoning', 'k', 9, 'j')",
];

const TABLES: readonly (keyof (Tables & StateTables))[] = [
  'segments',
  'turns',
  'item_index',
  'responses',
  'run_events',
  'chat_completions',
  'chat_metadata',
  'memory',
];

const MIGRATIONS = STORE_SCHEMA.migrations;

it.each([1, 7, MIGRATIONS.length, MIGRATIONS.length + 2])('a feature cannot take version %i', (version) => {
  const store = { name: 'shelf', operations: {}, tables: {}, migrations: { [version]: () => [] } };
  const parts = FEATURES.flatMap(({ store: own = [] }) => own);
  expect(() => schemaWith([...parts, store])).toThrow(/^Migration \d+ is not the next one: /);
  expect(() => schemaWith([store, ...parts])).toThrow(/^Migration \d+ is not the next one: /);
});

it.each(['sqlite', 'postgres'] as const)('%s: every version is brought to the newest one', async (kind) => {
  const fresh = await openDatabase(kind);
  await migrate(kyselyOf(fresh), kind, 1, MIGRATIONS);
  for (let version = 1; version <= MIGRATIONS.length; version += 1) {
    const database = await openDatabase(kind);
    await migrate(kyselyOf(database), kind, 1, MIGRATIONS.slice(0, version));
    expect(await schemaVersion(kyselyOf(database))).toBe(version);
    if (version === 1) for (const row of FIRST_ROWS) await database.sql(row);
    await migrate(kyselyOf(database), kind, 2, MIGRATIONS);
    expect(await schemaVersion(kyselyOf(database))).toBe(MIGRATIONS.length);
    expect(await schemaOf(database)).toEqual(await schemaOf(fresh));
    const counts = await Promise.all(TABLES.map((table) => database.sql(`select * from ${table}`)));
    expect(counts.map((rows) => rows.length)).toEqual(TABLES.map(() => (version === 1 ? 1 : 0)));
    await database.close();
  }
  await fresh.close();
});

describeStores('the schema', (open) => {
  it('is made once by stores that open at the same time, and refused if it is newer', async () => {
    const harness = open();
    const stores = await Promise.all([1, 2, 3].map(() => harness.openAnother({ keys: [KEYS[0]] })));
    expect(stores).toHaveLength(3);
    expect(await commitChain(harness, 1)).toHaveLength(1);
    const versions = await harness.sql('select version from schema_version order by version');
    expect(versions).toEqual(MIGRATIONS.map((_, index) => ({ version: index + 1 })));
    await harness.sql(`insert into schema_version values (${MIGRATIONS.length + 1}, 0)`);
    await expect(harness.openAnother()).rejects.toThrow(
      `The database has schema version ${MIGRATIONS.length + 1}, and this version of the program knows only up to ${MIGRATIONS.length}.`,
    );
  });
});

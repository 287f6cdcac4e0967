import { DatabaseSync } from 'node:sqlite';

import { STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { SCHEMA_WORDS } from '../../src/store/migrations/migration.ts';
import type { TableNotes } from '../../src/store/part.ts';

const NOTES: TableNotes = STORE_SCHEMA.tables;

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** The tables as the migrations make them. */
const tableRows = (database: DatabaseSync, table: string): readonly string[] => {
  const columns = database.prepare(`pragma table_info(${table})`).all() as unknown as readonly Column[];
  const notes: Readonly<Record<string, string>> = NOTES[table]?.columns ?? {};
  return columns.map(({ name, type, notnull, pk }) => {
    const isOptional = notnull === 0 && pk === 0;
    const kind = `${type.toLowerCase()}${isOptional ? '?' : ''}${pk > 0 ? ', key' : ''}`;
    const note = notes[name] ?? '';
    return `- \`${name}\` (${kind})${note === '' ? '' : `: ${note}`}`;
  });
};

export const describeStoreSchema = (): string => {
  const database = new DatabaseSync(':memory:');
  for (const migration of STORE_SCHEMA.migrations) {
    for (const statement of migration(SCHEMA_WORDS.sqlite)) database.exec(statement);
  }
  const tables = Object.entries(NOTES).flatMap(([table, { about }]) => [
    `## \`${table}\``,
    '',
    about,
    '',
    ...tableRows(database, table),
    '',
  ]);
  database.close();
  return [
    '# Schema of the store',
    '',
    `Version ${STORE_SCHEMA.migrations.length}. SQLite and PostgreSQL have the same tables; the migrations in \`src/store\` and in the features make them with their indexes, and every start brings a database up to date.`,
    'Times are milliseconds since the Unix epoch, `?` means that a column may be null, and `owner` is the id of the API key that a row belongs to; for a configured key a hash, which only the database has. After `expires_at` a row is unknown, and the sweep deletes it. The reasons are in [0020](decisions/0020-the-store.md).',
    '',
    'A _sealed_ column is text in one of three forms:',
    '',
    '- `j`, a checksum of 8 digits, the text: without `PROXY_STORE_KEY`.',
    '- `s`, the same checksum, the text as a JSON string: a text with characters that PostgreSQL cannot store.',
    '- `e`, the id of a key in 8 characters, then base64 of a nonce (12 bytes), a tag (16) and the ciphertext: AES-256-GCM.',
    '',
    'The checksum and the tag also cover the table, the key of the row and its owner: a text that was moved to another row cannot be read there.',
    '',
    ...tables,
  ].join('\n');
};

import { DatabaseSync } from 'node:sqlite';

import { FEATURES } from '../../src/compose/features.ts';
import { STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { mergeRows } from '../../src/kit/collections/merge-rows.ts';
import { SCHEMA_WORDS } from '../../src/store/migrations/migration.ts';
import type { TableNotes } from '../../src/store/part.ts';
import type { Tables } from '../../src/store/tables.ts';

const OWN_TABLES: TableNotes<Omit<Tables, 'schema_version'>> = {
  segments: {
    about: 'An append-only list of turns: a conversation, or a chain of responses.',
    columns: {
      id: 'of a conversation: `conv_…`',
      owner: '',
      kind: '`chain` or `conversation`; a conversation that was deleted is a chain',
      from_segment: 'the segment that it was forked from',
      from_pos: 'the last turn of that segment that belongs to it',
      tip: 'the position of its last turn; -1: it has none',
      locked_until: 'until then only `locked_by` may write to the conversation',
      locked_by: 'the request that holds the lock',
      cache_key: 'sealed; the key of the conversation for the prompt cache',
      created_at: '',
      expires_at: 'at least as late as for each of its responses; then it is unknown',
      sweep_at: 'when the sweep looks at it: at `expires_at`, or later if others were forked from it',
      body: 'sealed; the conversation; null for a chain',
      updated_at: 'when something was written to it; null: before version 4 of the schema',
    },
  },
  turns: {
    about: 'What one request added to a conversation. Positions have no gaps.',
    columns: {
      segment_id: '',
      pos: 'from 0 in each segment',
      key: 'names the turn in the ids of its input items',
      owner: '',
      response_id: 'null: items that were added without a response',
      total_chars:
        'the characters of all bodies up to this one when they were written, with those of earlier segments',
      body: 'sealed; the items of the turn',
    },
  },
  item_index: {
    about: 'Where the output item with this id is.',
    columns: { owner: '', id: 'of the item', segment_id: '', pos: '' },
  },
  responses: {
    about: 'A response without its items, which are in its turn.',
    columns: {
      id: '',
      owner: '',
      segment_id: 'null until it has ended',
      pos: 'null until it has ended',
      status: 'as in the API',
      is_background: '0 or 1',
      lease_by: 'the instance that runs it; null: it does not run',
      lease_beat: 'raised by that instance for as long as it lives',
      created_at: '',
      expires_at: '',
      body: 'sealed; the response',
    },
  },
  run_events: {
    about: 'Some consecutive events of a stream, for those that read it again.',
    columns: {
      response_id: '',
      first: 'the number of the first event',
      last: 'the number of the last event',
      chars: 'the characters of the body',
      owner: 'null: written before version 7 of the schema',
      expires_at: '',
      body: 'sealed; the events',
    },
  },
  chat_completions: {
    about: 'A stored chat completion.',
    columns: {
      id: '',
      owner: '',
      model: '',
      created_at: '',
      expires_at: '',
      metadata: 'sealed',
      body: 'sealed; the answer',
      messages: 'sealed; the messages of the request',
    },
  },
  chat_metadata: {
    about: 'One row for each pair of metadata of a chat completion.',
    columns: {
      owner: '',
      pair: 'a digest of key and value, with the current key if there is one',
      chat_id: '',
    },
  },
  memory: {
    about: 'Small values that all instances share. Losing one costs time, never content.',
    columns: {
      kind: '`cache-id`: the id of a conversation at the backend; `reasoning`: what clients cannot send back; `signature-key`: signs the reasoning that they can send back, and makes the ids of configured keys that are shown',
      key: 'a digest',
      expires_at: '',
      value: 'sealed',
    },
  },
  kept_bytes: {
    about:
      'How many bytes are kept for an API key: the sum of its rows. Triggers on `segments`, `turns`, `responses`, `run_events` and `chat_completions` count the sealed columns, and 500 bytes for each row.',
    columns: {
      owner: '',
      shard:
        'each connection to PostgreSQL uses one of 16, so that writers do not wait for each other; SQLite uses 0',
      bytes: 'may be negative: a row may be deleted by another connection than the one that wrote it',
    },
  },
};

const NOTES: TableNotes = mergeRows<TableNotes[string]>(
  OWN_TABLES,
  FEATURES.flatMap(({ store = [] }) => store).map(({ tables }) => tables),
);

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
    `Version ${STORE_SCHEMA.migrations.length}. SQLite and PostgreSQL have the same tables; \`src/store/migrations\` makes them with their indexes, and every start brings a database up to date.`,
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

import type { ExpressionBuilder } from 'kysely';

import type { Migration } from '../../store/migrations/migration.ts';
import { read, write, type Query } from '../../store/operation.ts';
import type { StorePart, TableNotes } from '../../store/part.ts';
import { deleteExpired } from '../../store/queries/expressions.ts';
import type { Place, Seal } from '../../store/seal.ts';
import type { Sealed } from '../../store/tables.ts';

/** A request that has ended, as a list of requests has it. The columns are what requests are searched by. */
export interface ListedRequest {
  /** Unique, and in the order of the starts: a text that begins with the time. */
  readonly id: string;
  /** Chosen by the client, who may use it again. */
  readonly requestId: string;
  /** Of the answer; null: it has none. */
  readonly responseId: string | null;
  /** The server that answered. */
  readonly instance: string;
  /** Null: the request had no valid key. */
  readonly keyId: string | null;
  readonly client: string | null;
  readonly model: string | null;
  /** The HTTP status; 499: the client has disconnected. */
  readonly status: number;
  /** Null: no error. A stream that fails has the status 200 and a code. */
  readonly errorCode: string | null;
  readonly body: string;
}

export interface StoredRequest extends ListedRequest {
  /** The parts of the request and their times. */
  readonly spans: string;
}

export interface RequestRow extends StoredRequest {
  readonly expiresAt: number;
}

/** What a request must have; null: anything. */
export interface RequestSearch {
  /** `ok`: no error; `failed`: any error. */
  readonly result: 'ok' | 'failed' | null;
  /** Included, and excluded. */
  readonly status: { readonly from: number; readonly below: number } | null;
  readonly errorCode: string | null;
  readonly model: string | null;
  readonly keyId: string | null;
  readonly client: string | null;
  /** The beginning of its id, of its request id or of its response id. */
  readonly text: string | null;
  /** Ids: included, and excluded. */
  readonly from: string | null;
  readonly before: string | null;
  readonly limit: number;
}

/** The log of requests: those of all keys and of all servers on the same database. */
export interface RequestStore {
  /** Safe to send again. */
  add(rows: readonly RequestRow[]): Promise<void>;
  find(id: string): Promise<StoredRequest | null>;
  /** The newest first. */
  list(search: RequestSearch): Promise<readonly ListedRequest[]>;
  /** Deletes some of the oldest rows if there are more than `keep`, at most `limit`. Returns how many. */
  trim(keep: number, limit: number): Promise<number>;
}

/** Large columns come last. */
const requestTable: Migration = ({ text }) => [
  `create table requests (
    id ${text} primary key,
    request_id ${text} not null,
    response_id ${text},
    instance ${text} not null,
    key_id ${text},
    client ${text},
    model ${text},
    status integer not null,
    error_code ${text},
    expires_at bigint not null,
    body ${text} not null,
    spans ${text} not null
  )`,
  'create index requests_request on requests (request_id)',
  'create index requests_response on requests (response_id) where response_id is not null',
  'create index requests_key on requests (key_id, id)',
  'create index requests_failed on requests (id) where error_code is not null',
  'create index requests_expiry on requests (expires_at)',
];

/** A request that has ended. */
interface RequestTable {
  id: string;
  request_id: string;
  response_id: string | null;
  instance: string;
  key_id: string | null;
  client: string | null;
  model: string | null;
  status: number;
  error_code: string | null;
  expires_at: number;
  body: Sealed;
  spans: Sealed;
}

interface RequestTables {
  requests: RequestTable;
}

type RequestQuery = Query<RequestTables>;

const bodyPlace = (id: string): Place => ({ column: 'requests.body', row: id });
const spansPlace = (id: string): Place => ({ column: 'requests.spans', row: id });

/** Rows of one statement: powers of two, so that there are few different statements to prepare. */
const MAX_ROWS = 64;

const add = async ({ db, seal }: RequestQuery, rows: readonly RequestRow[]): Promise<void> => {
  for (let at = 0; at < rows.length;) {
    const size = Math.min(MAX_ROWS, 2 ** Math.floor(Math.log2(rows.length - at)));
    await db
      .insertInto('requests')
      .values(rows.slice(at, at + size).map((row) => toTable(row, seal)))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute();
    at += size;
  }
};

const toTable = (row: RequestRow, seal: Seal): RequestTable => ({
  id: row.id,
  request_id: row.requestId,
  response_id: row.responseId,
  instance: row.instance,
  key_id: row.keyId,
  client: row.client,
  model: row.model,
  status: row.status,
  error_code: row.errorCode,
  expires_at: row.expiresAt,
  body: seal.close(bodyPlace(row.id), row.body),
  spans: seal.close(spansPlace(row.id), row.spans),
});

const LISTED = [
  'id',
  'request_id',
  'response_id',
  'instance',
  'key_id',
  'client',
  'model',
  'status',
  'error_code',
  'body',
] as const;

const fromTable = (row: Pick<RequestTable, (typeof LISTED)[number]>, seal: Seal): ListedRequest => ({
  id: row.id,
  requestId: row.request_id,
  responseId: row.response_id,
  instance: row.instance,
  keyId: row.key_id,
  client: row.client,
  model: row.model,
  status: row.status,
  errorCode: row.error_code,
  body: seal.open(bodyPlace(row.id), row.body),
});

const find = async ({ db, seal, now }: RequestQuery, id: string): Promise<StoredRequest | null> => {
  const row = await db
    .selectFrom('requests')
    .select([...LISTED, 'spans'])
    .where('id', '=', id)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row === undefined
    ? null
    : { ...fromTable(row, seal), spans: seal.open(spansPlace(row.id), row.spans) };
};

type Where = ExpressionBuilder<RequestTables, 'requests'>;

const list = async (
  { db, seal, now }: RequestQuery,
  search: RequestSearch,
): Promise<readonly ListedRequest[]> => {
  const rows = await db
    .selectFrom('requests')
    .select(LISTED)
    .where((of) => of.and([of('expires_at', '>', now), ...conditionsOf(search, of)]))
    .orderBy('id', 'desc')
    .limit(search.limit)
    .execute();
  return rows.map((row) => fromTable(row, seal));
};

const conditionsOf = (search: RequestSearch, of: Where) => [
  ...(search.result === 'failed' ? [of('error_code', 'is not', null)] : []),
  ...(search.result === 'ok' ? [of('error_code', 'is', null)] : []),
  ...(search.status === null
    ? []
    : [of('status', '>=', search.status.from), of('status', '<', search.status.below)]),
  ...(search.errorCode === null ? [] : [of('error_code', '=', search.errorCode)]),
  ...(search.model === null ? [] : [of('model', '=', search.model)]),
  ...(search.keyId === null ? [] : [of('key_id', '=', search.keyId)]),
  ...(search.client === null ? [] : [of('client', '=', search.client)]),
  ...(search.from === null ? [] : [of('id', '>=', search.from)]),
  ...(search.before === null ? [] : [of('id', '<', search.before)]),
  ...(search.text === null ? [] : [withText(search.text, of)]),
];

/** The last character there is: every text that begins with another one comes before the two together. */
const LAST = '\u{10FFFF}';

const withText = (text: string, of: Where) =>
  of.or(
    (['id', 'request_id', 'response_id'] as const).map((column) =>
      of.and([of(column, '>=', text), of(column, '<', `${text}${LAST}`)]),
    ),
  );

const trim = async ({ db }: RequestQuery, keep: number, limit: number): Promise<number> => {
  const oldest = await db
    .selectFrom('requests')
    .select('id')
    .orderBy('id', 'desc')
    .offset(keep)
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined) return 0;
  const { numDeletedRows } = await db
    .deleteFrom('requests')
    .where('id', 'in', (of) =>
      of.selectFrom('requests').select('id').where('id', '<=', oldest.id).orderBy('id').limit(limit),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
};

/** For docs/store-schema.md. */
const NOTES: TableNotes<RequestTables> = {
  requests: {
    after: 'api_key_state',
    sealed: 'body',
    isSwept: true,
    about:
      'The log of requests: facts about requests that have ended, no content. See [requests](requests.md).',
    columns: {
      id: 'unique; begins with the time of the request',
      request_id: '`x-request-id`, which clients may choose',
      response_id: 'the answer; null: there is none',
      instance: 'the server that answered',
      key_id: 'the key of the request; null: no valid one',
      client: 'as it was detected',
      model: '',
      status: 'the HTTP status; 499: the client has disconnected',
      error_code: 'null: no error',
      expires_at: '',
      body: 'sealed; the other facts',
      spans: 'sealed; the parts of the request and their times',
    },
  },
};

export const requestStore: StorePart<RequestStore> = {
  name: 'requests',
  operations: { add: write(add), find: read(find), list: read(list), trim: write(trim) },
  migrations: { 3: requestTable },
  status: { requests: { after: 'keys', text: (rows) => `${rows['requests']} in the request log` } },
  sweep: (query, limit) => deleteExpired(query, 'requests', limit),
  tables: NOTES,
};

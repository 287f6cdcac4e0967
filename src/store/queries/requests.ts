import type { ExpressionBuilder } from 'kysely';

import { read, write, type OperationsOf, type Query } from '../operation.ts';
import type { ListedRequest, RequestRow, RequestSearch, RequestStore } from '../ports/requests.ts';
import type { Place, Seal } from '../seal.ts';
import type { RequestTable, Tables } from '../tables.ts';

const bodyPlace = (id: string): Place => ({ column: 'requests.body', row: id });
const spansPlace = (id: string): Place => ({ column: 'requests.spans', row: id });

/** Rows of one statement: powers of two, so that there are few different statements to prepare. */
const MAX_ROWS = 64;

const add = async ({ db, seal }: Query, rows: readonly RequestRow[]): Promise<void> => {
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

const find = async ({ db, seal, now }: Query, id: string): Promise<Omit<RequestRow, 'expiresAt'> | null> => {
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

type Where = ExpressionBuilder<Tables, 'requests'>;

const list = async ({ db, seal, now }: Query, search: RequestSearch): Promise<readonly ListedRequest[]> => {
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

const trim = async ({ db }: Query, keep: number, limit: number): Promise<number> => {
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

export const requestOperations: OperationsOf<RequestStore> = {
  add: write(add),
  find: read(find),
  list: read(list),
  trim: write(trim),
};

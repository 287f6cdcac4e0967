import { batched, read, together, write, type OperationsOf } from '../../../store/operation.ts';
import type { Place } from '../../../store/seal.ts';
import type { EventBatch, EventCopy, EventStore } from './port.ts';
import type { StateQuery } from './tables.ts';

const placeOf = (responseId: string, first: number): Place => ({
  column: 'run_events.body',
  row: `${responseId}/${first}`,
});

/** A repeated write, after one whose end the caller did not learn, changes nothing. */
const append = async (
  query: StateQuery,
  owner: string,
  responseId: string,
  { first, last, body }: EventBatch,
  expiresAt: number,
): Promise<void> => {
  const { db, seal } = query;
  const place = placeOf(responseId, first);
  const [inserted] = await together(query, [
    db
      .insertInto('run_events')
      .values({
        response_id: responseId,
        owner,
        first,
        last,
        chars: body.length,
        expires_at: expiresAt,
        body: seal.close(place, body),
      })
      .onConflict((conflict) => conflict.columns(['response_id', 'first']).doNothing())
      .returning('first')
      .compile(),
  ]);
  if (inserted?.rows.length === 1) return;
  const stored = await db
    .selectFrom('run_events')
    .select(['last', 'body'])
    .where('response_id', '=', responseId)
    .where('first', '=', first)
    .executeTakeFirstOrThrow();
  if (stored.last !== last || seal.open(place, stored.body) !== body) {
    throw new Error(`event ${first} of ${responseId} is stored already, with another content`);
  }
};

const byOwner = (one: EventCopy, other: EventCopy): number => {
  if (one.owner === other.owner) return 0;
  return one.owner < other.owner ? -1 : 1;
};

const copy = async (query: StateQuery, copies: readonly EventCopy[]): Promise<void> => {
  const { db, seal } = query;
  // Each locks the bytes of its owner: two instances that do so in different orders would wait for each other.
  const inOrder = copies.toSorted(byOwner);
  await together(query, [
    db
      .insertInto('run_events')
      .values(
        inOrder.map(({ owner, responseId, count, body, expiresAt }) => ({
          response_id: responseId,
          owner,
          first: 0,
          last: count - 1,
          chars: body.length,
          expires_at: expiresAt,
          body: seal.close(placeOf(responseId, 0), body),
        })),
      )
      // Written before, if the connection broke meanwhile.
      .onConflict((conflict) => conflict.columns(['response_id', 'first']).doNothing())
      .compile(),
  ]);
};

/** More are read with the next call. */
const MAX_BATCHES = 1000;
/** PostgreSQL compares no larger ones with its integers. */
const MAX_NUMBER = 2 ** 31 - 1;

const after = async (
  { db, seal, now }: StateQuery,
  responseId: string,
  number: number,
  maxChars: number,
): Promise<readonly EventBatch[]> => {
  const batches = db
    .selectFrom('run_events')
    .where('response_id', '=', responseId)
    .where('last', '>', Math.min(number, MAX_NUMBER))
    .where('expires_at', '>', now)
    .orderBy('first');
  // First only how long they are: a batch may have megabytes.
  const sizes = await batches.select(['first', 'chars']).limit(MAX_BATCHES).execute();
  let chars = 0;
  let end: number | null = null;
  for (const size of sizes) {
    chars += size.chars;
    if (end !== null && chars > maxChars) break;
    end = size.first;
  }
  if (end === null) return [];
  const rows = await batches.select(['first', 'last', 'body']).where('first', '<=', end).execute();
  return rows.map(({ first, last, body }) => ({
    first,
    last,
    body: seal.open(placeOf(responseId, first), body),
  }));
};

const expire = async ({ db }: StateQuery, responseId: string, expiresAt: number): Promise<void> => {
  await db
    .updateTable('run_events')
    .set({ expires_at: expiresAt })
    .where('response_id', '=', responseId)
    .execute();
};

export const eventOperations: OperationsOf<EventStore> = {
  copy: batched(copy, {
    changed: (copies) => copies.map(({ responseId }) => responseId),
    change: 'events',
    isRelaxed: () => true,
  }),
  append: batched(append, { changed: (_owner, responseId) => responseId, change: 'events' }),
  after: read(after),
  expire: write(expire),
};

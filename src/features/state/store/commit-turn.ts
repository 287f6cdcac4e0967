import { sql, type CompiledQuery, type RawBuilder } from 'kysely';

import type { Onto, Position, TurnStore } from './port.ts';
import { atLeast } from '../../../store/queries/expressions.ts';
import { together } from '../../../store/operation.ts';
import type { Sealed } from '../../../store/tables.ts';
import { responsePlace, RUNNING } from './response-rows.ts';
import { cacheKeyPlace } from './segments.ts';
import { itemStatements, turnPlace } from './turn-rows.ts';
import type { StateQuery } from './tables.ts';

type Write = Parameters<TurnStore['commit']>[0];

/**
 * Every statement does something only if the one before it did, so nothing has to be undone if this returns null. A repeated
 * write, after one whose end the caller did not learn, finds the turn by its key.
 */
export const commitTurn = async (query: StateQuery, write: Write): Promise<Position | null> => {
  if (query.remote?.isFirstAttempt !== true) {
    return (await earlierPosition(query, write)) ?? (await writeOnto(query, write));
  }
  // To look first would be a round trip. A foreground answer that is there already is a conflict, so there is another attempt.
  return (await writeOnto(query, write)) ?? (await earlierPosition(query, write));
};

const writeOnto = async (query: StateQuery, write: Write): Promise<Position | null> => {
  const { owner, onto, response } = write;
  const commit: Commit = {
    ...write,
    responseBody: response === null ? '' : query.seal.close(responsePlace(owner, response.id), response.body),
  };
  if (onto.kind === 'conversation') return writeAtEnd(query, commit, onto);
  const { cacheKey } = onto;
  if (onto.kind === 'new') {
    return writeAt(query, commit, { kind: 'new', at: { segment: onto.segment, pos: 0 }, cacheKey });
  }
  const { at: from, fork } = onto;
  const next = { segment: from.segment, pos: from.pos + 1 };
  return (
    (await writeAt(query, commit, { kind: 'chain', at: next })) ??
    writeAt(query, commit, { kind: 'fork', at: { segment: fork, pos: 0 }, from, cacheKey })
  );
};

/** Each attempt that fails found that another writer has added a turn. */
const writeAtEnd = async (
  query: StateQuery,
  commit: Commit,
  { id, tip: known }: Extract<Onto, { readonly kind: 'conversation' }>,
): Promise<Position | null> => {
  let tip = known ?? (await tipOf(query, commit.owner, id));
  while (tip !== null) {
    const at = await writeAt(query, commit, { kind: 'conversation', at: { segment: id, pos: tip + 1 } });
    if (at !== null) return at;
    const now = await tipOf(query, commit.owner, id);
    if (now === tip) return null;
    tip = now;
  }
  return null;
};

interface Commit extends Write {
  /** Sealed. */
  readonly responseBody: Sealed;
}

/** Where a turn goes, if that place is still free. */
type Target =
  | { readonly kind: 'new'; readonly at: Position; readonly cacheKey: string }
  | { readonly kind: 'fork'; readonly at: Position; readonly from: Position; readonly cacheKey: string }
  | { readonly kind: 'chain' | 'conversation'; readonly at: Position };

/** Null: it is not free, or the response does not run any more. */
const writeAt = async (query: StateQuery, commit: Commit, target: Target): Promise<Position | null> => {
  const locks = lockStatements(query, commit, target);
  const results = await together(query, [
    ...locks,
    segmentStatement(query, commit, target),
    turnStatement(query, commit, target),
    // While a background response runs, the turn with its key is that of this write: an earlier one has ended it.
    ...itemStatements(query, commit.owner, commit.turn, stillRuns(query, commit)),
    ...responseStatements(query, commit),
  ]);
  return results[locks.length + 1]?.rows.length === 1 ? target.at : null;
};

/** Segments are locked before responses everywhere, so that two writers never wait for each other. */
const lockStatements = (
  { db }: StateQuery,
  { owner, response }: Commit,
  target: Target,
): readonly CompiledQuery[] => {
  const isBackground = response?.isBackground === true;
  const segment = target.kind === 'fork' ? target.from.segment : target.at.segment;
  return [
    // A statement that changes the segment locks it anyway.
    ...(target.kind === 'fork' || (isBackground && target.kind !== 'new')
      ? [db.selectFrom('segments').select('id').where('id', '=', segment).forUpdate().compile()]
      : []),
    ...(isBackground
      ? [
          db
            .selectFrom('responses')
            .select('id')
            .where('id', '=', response.id)
            .where('owner', '=', owner)
            .forUpdate()
            .compile(),
        ]
      : []),
  ];
};

/** A background response may have been cancelled, or given up as lost. */
const stillRuns = ({ now }: StateQuery, { owner, response }: Commit): RawBuilder<boolean> =>
  response?.isBackground === true
    ? sql`exists (
        select 1 from responses
        where id = ${response.id} and owner = ${owner} and status in (${sql.join(RUNNING)}) and expires_at > ${now}
      )`
    : sql`1 = 1`;

const segmentStatement = (query: StateQuery, commit: Commit, target: Target): CompiledQuery =>
  target.kind === 'new' || target.kind === 'fork'
    ? newSegment(query, commit, target)
    : longerSegment(query, commit, target);

const lastExpiry = ({ expiresAt, response }: Commit): number => Math.max(expiresAt, response?.expiresAt ?? 0);

const longerSegment = (query: StateQuery, commit: Commit, { kind, at }: Target): CompiledQuery => {
  const { db, now } = query;
  const expiresAt = lastExpiry(commit);
  return (
    db
      .updateTable('segments')
      .set({
        tip: at.pos,
        updated_at: now,
        expires_at: atLeast('expires_at', expiresAt),
        sweep_at: atLeast('sweep_at', expiresAt),
      })
      .where('id', '=', at.segment)
      .where('owner', '=', commit.owner)
      .where('tip', '=', at.pos - 1)
      // What continues a response of a conversation is not a part of that conversation.
      .where('kind', '=', kind === 'conversation' ? kind : 'chain')
      .$if(kind === 'conversation', (known) => known.where('expires_at', '>', now))
      .where(stillRuns(query, commit))
      .compile()
  );
};

const newSegment = (
  query: StateQuery,
  commit: Commit,
  target: Extract<Target, { readonly cacheKey: string }>,
): CompiledQuery => {
  const { db, seal, now } = query;
  const { owner } = commit;
  const { segment, pos } = target.at;
  const from = target.kind === 'fork' ? target.from : null;
  const isFromThere =
    from === null
      ? sql``
      : sql`and exists (
          select 1 from segments where id = ${from.segment} and owner = ${owner} and tip >= ${from.pos}
        )`;
  const cacheKey = seal.close(cacheKeyPlace(owner, segment), target.cacheKey);
  const expiresAt = lastExpiry(commit);
  return sql`
    insert into segments (
      id, owner, kind, from_segment, from_pos, tip, cache_key, created_at, updated_at, expires_at, sweep_at
    )
    select cast(${segment} as text), cast(${owner} as text), 'chain', cast(${from?.segment ?? null} as text),
      cast(${from?.pos ?? null} as integer), cast(${pos} as integer), cast(${cacheKey} as text),
      cast(${now} as bigint), cast(${now} as bigint), cast(${expiresAt} as bigint), cast(${expiresAt} as bigint)
    where ${stillRuns(query, commit)} ${isFromThere}`.compile(db);
};

/** The turn before it, whose total goes on. */
const beforeOf = (target: Target): Position | null => {
  if (target.kind === 'new') return null;
  return target.kind === 'fork' ? target.from : { segment: target.at.segment, pos: target.at.pos - 1 };
};

/** If the segment has got this tip, but not by the statement before, another writer's turn is there. */
const turnStatement = (
  { db, seal }: StateQuery,
  { owner, turn, response }: Commit,
  target: Target,
): CompiledQuery => {
  const { segment, pos } = target.at;
  const before = beforeOf(target);
  const charsBefore =
    before === null
      ? sql`0`
      : sql`coalesce((
          select total_chars from turns where segment_id = ${before.segment} and pos = ${before.pos}
        ), 0)`;
  return sql`
    insert into turns (segment_id, pos, key, owner, response_id, total_chars, body)
    select cast(${segment} as text), cast(${pos} as integer), cast(${turn.key} as text), cast(${owner} as text),
      cast(${response?.id ?? null} as text), ${charsBefore} + cast(${turn.body.length} as bigint),
      cast(${seal.close(turnPlace(owner, target.at), turn.body)} as text)
    where exists (select 1 from segments where id = ${segment} and owner = ${owner} and tip = ${pos})
      and not exists (select 1 from turns where segment_id = ${segment} and pos = ${pos})
    returning pos`.compile(db);
};

const responseStatements = (query: StateQuery, commit: Commit): readonly CompiledQuery[] => {
  const { owner, turn, response, responseBody } = commit;
  if (response === null) return [];
  const { id, status, createdAt, expiresAt } = response;
  const ofTurn = sql`turns.key = ${turn.key} and turns.owner = ${owner}`;
  const statement = response.isBackground
    ? sql`
        update responses set status = ${status}, segment_id = turns.segment_id, pos = turns.pos,
          lease_by = null, lease_beat = null, expires_at = ${expiresAt}, body = ${responseBody}
        from turns
        where responses.id = ${id} and responses.owner = ${owner} and ${ofTurn} and ${stillRuns(query, commit)}`
    : sql`
        insert into responses (id, owner, segment_id, pos, status, is_background, created_at, expires_at, body)
        select cast(${id} as text), turns.owner, turns.segment_id, turns.pos, cast(${status} as text), 0,
          cast(${createdAt} as bigint), cast(${expiresAt} as bigint), cast(${responseBody} as text)
        from turns where ${ofTurn}`;
  return [statement.compile(query.db)];
};

/**
 * Where an earlier write put the turn. Null: there was none, or another instance ran the background response again and
 * ended it with another answer.
 */
const earlierPosition = async (
  { db, seal }: StateQuery,
  { owner, turn, response }: Write,
): Promise<Position | null> => {
  const row = await db
    .selectFrom('turns')
    .select(['segment_id', 'pos', 'body'])
    .where('key', '=', turn.key)
    .where('owner', '=', owner)
    .executeTakeFirst();
  if (row === undefined) return null;
  const at = { segment: row.segment_id, pos: row.pos };
  const isAnother =
    response?.isBackground === true && seal.open(turnPlace(owner, at), row.body) !== turn.body;
  return isAnother ? null : at;
};

/** Null: the conversation does not exist any more. */
const tipOf = async ({ db, now }: StateQuery, owner: string, id: string): Promise<number | null> => {
  const row = await db
    .selectFrom('segments')
    .select('tip')
    .where('id', '=', id)
    .where('owner', '=', owner)
    .where('kind', '=', 'conversation')
    .where('expires_at', '>', now)
    .executeTakeFirst();
  return row?.tip ?? null;
};

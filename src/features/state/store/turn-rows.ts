import { sql, type CompiledQuery, type Selectable } from 'kysely';

import { inParts } from '../../../store/queries/expressions.ts';
import type { Place } from '../../../store/seal.ts';
import type { NewTurn, Position, TurnRow } from './port.ts';
import type { TurnTable, StateQuery } from './tables.ts';

export const turnPlace = (owner: string, { segment, pos }: Position): Place => ({
  column: 'turns.body',
  row: `${segment}/${pos}`,
  owner,
});

export const TURN_COLUMNS = [
  'turns.segment_id',
  'turns.pos',
  'turns.key',
  'turns.owner',
  'turns.response_id',
  'turns.body',
] as const;

type Stored = Pick<Selectable<TurnTable>, 'segment_id' | 'pos' | 'key' | 'owner' | 'response_id' | 'body'>;

export const toTurn = ({ seal }: StateQuery, row: Stored): TurnRow => {
  const position = { segment: row.segment_id, pos: row.pos };
  return {
    ...position,
    key: row.key,
    responseId: row.response_id,
    body: seal.open(turnPlace(row.owner, position), row.body),
  };
};

/** PostgreSQL cannot index longer values. */
const MAX_ITEM_ID_CHARS = 512;

/**
 * Statements by which the items of a stored turn are found, if the condition is true. There are few different ones: a
 * connection to PostgreSQL keeps each of them. Rows come in one order, so that two writers never wait for each other.
 */
export const itemStatements = (
  { db }: StateQuery,
  owner: string,
  { key, itemIds }: Pick<NewTurn, 'key' | 'itemIds'>,
  condition = sql<boolean>`1 = 1`,
): readonly CompiledQuery[] =>
  inParts(itemIds.filter((id) => id.length <= MAX_ITEM_ID_CHARS)).map((ids) =>
    sql`
      with items (id) as (values ${sql.join(ids.map((id) => sql`(cast(${id} as text))`))})
      insert into item_index (owner, id, segment_id, pos)
      select distinct turns.owner, items.id, turns.segment_id, turns.pos
      from turns cross join items
      where turns.key = ${key} and turns.owner = ${owner} and ${condition}
      order by items.id
      on conflict (owner, id) do update set segment_id = excluded.segment_id, pos = excluded.pos`.compile(db),
  );

/** Writes a turn at a position that is free. */
export const insertTurn = async (
  query: StateQuery,
  owner: string,
  at: Position,
  turn: NewTurn & { readonly responseId: string | null; readonly charsBefore: number },
): Promise<void> => {
  const { db, seal } = query;
  await db
    .insertInto('turns')
    .values({
      segment_id: at.segment,
      pos: at.pos,
      key: turn.key,
      owner,
      response_id: turn.responseId,
      total_chars: turn.charsBefore + turn.body.length,
      body: seal.close(turnPlace(owner, at), turn.body),
    })
    .execute();
  for (const statement of itemStatements(query, owner, turn)) await db.executeQuery(statement);
};

import type { Selectable } from 'kysely';

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
const ITEMS_AT_ONCE = 500;

/** The ids by which its items are found, in parts for a statement each. */
export const indexedIds = ({ itemIds }: NewTurn): readonly (readonly string[])[] => {
  const ids = [...new Set(itemIds)].filter((id) => id.length <= MAX_ITEM_ID_CHARS);
  return Array.from({ length: Math.ceil(ids.length / ITEMS_AT_ONCE) }, (_, part) =>
    ids.slice(part * ITEMS_AT_ONCE, (part + 1) * ITEMS_AT_ONCE),
  );
};

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
  for (const ids of indexedIds(turn)) {
    await db
      .insertInto('item_index')
      .values(ids.map((id) => ({ owner, id, segment_id: at.segment, pos: at.pos })))
      .onConflict((conflict) =>
        conflict.columns(['owner', 'id']).doUpdateSet((of) => ({
          segment_id: of.ref('excluded.segment_id'),
          pos: of.ref('excluded.pos'),
        })),
      )
      .execute();
  }
};

import type { Insertable, Selectable } from 'kysely';

import type { Place } from '../../../store/seal.ts';
import type { Position, ResponseRow, ResponseStatus } from './port.ts';
import type { ResponseTable, StateQuery } from './tables.ts';

export const RUNNING: readonly ResponseStatus[] = ['queued', 'in_progress'];

export const responsePlace = (owner: string, id: string): Place => ({
  column: 'responses.body',
  row: id,
  owner,
});

export const positionOf = ({
  segment_id: segment,
  pos,
}: Pick<Selectable<ResponseTable>, 'segment_id' | 'pos'>): Position | null =>
  segment === null || pos === null ? null : { segment, pos };

export const toResponse = ({ seal }: StateQuery, row: Selectable<ResponseTable>): ResponseRow => ({
  id: row.id,
  owner: row.owner,
  status: row.status,
  isBackground: row.is_background === 1,
  position: positionOf(row),
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  body: seal.open(responsePlace(row.owner, row.id), row.body),
});

export const closeResponse = ({ seal }: StateQuery, row: ResponseRow): Insertable<ResponseTable> => ({
  id: row.id,
  owner: row.owner,
  segment_id: row.position?.segment ?? null,
  pos: row.position?.pos ?? null,
  status: row.status,
  is_background: row.isBackground ? 1 : 0,
  created_at: row.createdAt,
  expires_at: row.expiresAt,
  body: seal.close(responsePlace(row.owner, row.id), row.body),
});

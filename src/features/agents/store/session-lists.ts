import { read, type OperationsOf } from '../../../store/operation.ts';
import type {
  AgentEventBatch,
  AgentEventStore,
  AgentPage,
  AgentSessionRow,
  AgentSessionStore,
  SessionItemRow,
  SessionTurnRow,
} from './port.ts';
import { agentPlace, pairText, toSession } from './session-rows.ts';
import type { AgentQuery } from './tables.ts';

const list = async (
  query: AgentQuery,
  owner: string,
  { agentId, metadata, after, order, limit }: Parameters<AgentSessionStore['list']>[1],
): Promise<readonly AgentSessionRow[] | null> => {
  const { db, seal, now } = query;
  const known = db.selectFrom('agent_sessions').where('owner', '=', owner).where('expires_at', '>', now);
  let page = known.selectAll();
  if (agentId !== null) page = page.where('agent_id', '=', agentId);
  for (const [key, value] of Object.entries(metadata)) {
    page = page.where('id', 'in', (of) =>
      of
        .selectFrom('agent_session_metadata')
        .select('session_id')
        .where('agent_session_metadata.owner', '=', owner)
        .where('pair', 'in', seal.digests(pairText(key, value))),
    );
  }
  if (after !== null) {
    const last = await known.select('created_at').where('id', '=', after).executeTakeFirst();
    if (last === undefined) return null;
    const sign = order === 'asc' ? '>' : '<';
    page = page.where((of) =>
      of.or([
        of('created_at', sign, last.created_at),
        of.and([of('created_at', '=', last.created_at), of('id', sign, after)]),
      ]),
    );
  }
  const rows = await page.orderBy('created_at', order).orderBy('id', order).limit(limit).execute();
  return rows.map((row) => toSession(query, row));
};

const bodyOfTurn = ({ seal }: AgentQuery, owner: string, sessionId: string, row: SessionTurnRow) => ({
  ...row,
  body: seal.open(agentPlace('agent_turns.body', owner, `${sessionId}/${row.pos}`), row.body),
});

const turnsOf = ({ db }: AgentQuery, owner: string, sessionId: string) =>
  db.selectFrom('agent_turns').where('session_id', '=', sessionId).where('owner', '=', owner);

const turn = async (
  query: AgentQuery,
  owner: string,
  sessionId: string,
  turnId: string,
): Promise<SessionTurnRow | null> => {
  const row = await turnsOf(query, owner, sessionId)
    .select(['id', 'pos', 'body'])
    .where('id', '=', turnId)
    .executeTakeFirst();
  return row === undefined ? null : bodyOfTurn(query, owner, sessionId, row);
};

const turns = async (
  query: AgentQuery,
  owner: string,
  sessionId: string,
  { after, order, limit }: AgentPage,
): Promise<readonly SessionTurnRow[] | null> => {
  let page = turnsOf(query, owner, sessionId).select(['id', 'pos', 'body']);
  if (after !== null) {
    const last = await turn(query, owner, sessionId, after);
    if (last === null) return null;
    page = page.where('pos', order === 'asc' ? '>' : '<', last.pos);
  }
  const rows = await page.orderBy('pos', order).limit(limit).execute();
  return rows.map((row) => bodyOfTurn(query, owner, sessionId, row));
};

const openItem = (
  { seal }: AgentQuery,
  owner: string,
  sessionId: string,
  column: 'body' | 'raw',
  row: { readonly pos: number; readonly text: string | null },
): string | null =>
  row.text === null
    ? null
    : seal.open(agentPlace(`agent_items.${column}`, owner, `${sessionId}/${row.pos}`), row.text);

const items = async (
  query: AgentQuery,
  owner: string,
  sessionId: string,
  turnId: string | null,
  { after, order, limit }: AgentPage,
): Promise<readonly SessionItemRow[] | null> => {
  let shown = query.db
    .selectFrom('agent_items')
    .where('session_id', '=', sessionId)
    .where('owner', '=', owner)
    .where('is_shown', '=', 1);
  if (turnId !== null) shown = shown.where('turn_id', '=', turnId);
  let page = shown.select(['id', 'pos', 'turn_id', 'body']);
  if (after !== null) {
    const last = await shown.select('pos').where('id', '=', after).executeTakeFirst();
    if (last === undefined) return null;
    page = page.where('pos', order === 'asc' ? '>' : '<', last.pos);
  }
  const rows = await page.orderBy('pos', order).limit(limit).execute();
  return rows.map(({ id, pos, turn_id, body }) => ({
    id,
    pos,
    turnId: turn_id,
    body: openItem(query, owner, sessionId, 'body', { pos, text: body }),
  }));
};

/** More are read with the next call. */
const MAX_ROWS = 1_000;

/** As many of the rows as have so many characters, but at least one. */
const within = (rows: readonly { readonly chars: number }[], maxChars: number): number => {
  let chars = 0;
  const end = rows.findIndex((row, index) => {
    chars += row.chars;
    return index > 0 && chars > maxChars;
  });
  return end < 0 ? rows.length : end;
};

const history = async (
  query: AgentQuery,
  owner: string,
  sessionId: string,
  from: number,
  maxChars: number,
): Promise<readonly SessionItemRow[]> => {
  const asked = query.db
    .selectFrom('agent_items')
    .where('session_id', '=', sessionId)
    .where('owner', '=', owner)
    .where('pos', '>=', from)
    .orderBy('pos');
  const sizes = await asked.select(['pos', 'chars']).limit(MAX_ROWS).execute();
  const last = sizes[within(sizes, maxChars) - 1];
  if (last === undefined) return [];
  const rows = await asked.select(['id', 'pos', 'turn_id', 'raw']).where('pos', '<=', last.pos).execute();
  return rows.map(({ id, pos, turn_id, raw }) => ({
    id,
    pos,
    turnId: turn_id,
    raw: openItem(query, owner, sessionId, 'raw', { pos, text: raw }),
  }));
};

export const sessionLists = {
  list: read(list),
  turn: read(turn),
  turns: read(turns),
  items: read(items),
  history: read(history),
} satisfies Partial<OperationsOf<AgentSessionStore>>;

/** PostgreSQL compares no larger ones with its integers. */
const MAX_NUMBER = 2 ** 31 - 1;

const after = async (
  { db, seal, now }: AgentQuery,
  owner: string,
  sessionId: string,
  number: number,
  maxChars: number,
): Promise<readonly AgentEventBatch[]> => {
  const batches = db
    .selectFrom('agent_events')
    .where('session_id', '=', sessionId)
    .where('owner', '=', owner)
    .where('last', '>', Math.min(number, MAX_NUMBER))
    .where('expires_at', '>', now)
    .orderBy('first');
  const sizes = await batches.select(['first', 'chars']).limit(MAX_ROWS).execute();
  const last = sizes[within(sizes, maxChars) - 1];
  if (last === undefined) return [];
  const rows = await batches.select(['first', 'body']).where('first', '<=', last.first).execute();
  return rows.map(({ first, body }) => ({
    first,
    events: JSON.parse(
      seal.open(agentPlace('agent_events.body', owner, `${sessionId}/${first}`), body),
    ) as readonly string[],
  }));
};

export const agentEventOperations: OperationsOf<AgentEventStore> = { after: read(after) };

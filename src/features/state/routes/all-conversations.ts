import {
  readInclude,
  type Includable,
  projectStoredItem,
} from '../../../openai/responses/output/project-stored.ts';
import { listBody, readListQuery, unreadQuery } from '../../../openai/shared/list-page.ts';
import type { AllConversations, ShownTurn } from '../all-conversations.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { loadLimits, type BodyDeps } from '../../../http/body/read-json.ts';
import { withStore, type StoreHandler } from '../../../http/route.ts';

export interface AllConversationsRouteDeps {
  /** Null: nothing is stored. */
  readonly kept: { readonly all: AllConversations } | null;
  readonly bodies: BodyDeps;
}

/** The stored conversations and chains of responses of all keys, for operators. */
export const allConversationsRoutes = ({ kept, bodies }: AllConversationsRouteDeps) => {
  const stored = withStore(kept === null ? null : { ...kept, bodies });
  return {
    'GET /v1/codex/conversations': stored(list),
    'GET /v1/codex/conversations/:id': stored(find),
    'DELETE /v1/codex/conversations/:id': stored(remove),
  };
};

type Handle = StoreHandler<{ readonly all: AllConversations; readonly bodies: BodyDeps }>;

const list: Handle = async ({ all, exchange, query }) => {
  const { limit, after } = readListQuery(query, 'desc');
  const keyId = query.get('key_id') ?? '';
  const { rows, hasMore } = await all.list({ owner: keyId === '' ? null : keyId, after, limit });
  const ignored = ignoredHeader(unreadQuery(query, ['limit', 'after', 'key_id']));
  return jsonResponse(listBody(rows.map(projectRow), hasMore), ignored, exchange.signal);
};

const find: Handle = async ({ all, bodies, exchange, query, id }) => {
  const include = readInclude(query);
  const { limit, order, after } = readListQuery(query, 'asc');
  const { metadata, ...row } = await all.find(id);
  const page = await all.turns(loadLimits(exchange, bodies), id, { limit, order, after });
  const turns = page.turns.map((turn) => projectTurn(turn, include));
  const ignored = ignoredHeader(unreadQuery(query, ['limit', 'order', 'after', 'include']));
  const body = { ...projectRow(row), metadata, history: listBody(turns, page.hasMore) };
  return jsonResponse(body, ignored, exchange.signal);
};

const remove: Handle = async ({ all, exchange, id }) => {
  const kept = await all.delete(id, exchange.signal);
  return Response.json({ id, object: 'codex.conversation.deleted', deleted: true, kept_turns: kept });
};

type Row = Awaited<ReturnType<AllConversations['list']>>['rows'][number];

const projectRow = (row: Row) => ({
  id: row.id,
  object: 'codex.conversation' as const,
  kind: row.kind,
  key_id: row.owner,
  turns: row.turns,
  forked_from: row.from === null ? null : { id: row.from.segment, turns: row.from.pos + 1 },
  created_at: Math.floor(row.createdAt / 1000),
  updated_at: Math.floor(row.updatedAt / 1000),
  expires_at: Math.floor(row.expiresAt / 1000),
});

const projectTurn = ({ id, responseId, items, error }: ShownTurn, include: ReadonlySet<Includable>) => ({
  id,
  object: 'codex.turn' as const,
  response_id: responseId,
  items: items.map((item) => projectStoredItem(item, include)),
  error,
});

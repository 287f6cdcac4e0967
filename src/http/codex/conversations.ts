import { gatewayError } from '../../canonical/failure/failure.ts';
import { readInclude, type Includable } from '../../openai/responses/output/include.ts';
import { projectStoredItem } from '../../openai/responses/output/project-stored.ts';
import { listBody } from '../../openai/shared/list-page.ts';
import { readListQuery } from '../../openai/shared/list-query.ts';
import { unreadQuery } from '../../openai/shared/unread-query.ts';
import type { AllConversations, ShownTurn } from '../../state/all-conversations.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { loadLimits } from '../body/load-limits.ts';
import type { BodyDeps } from '../body/read-body.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Route } from '../server.ts';

export interface AllConversationsRouteDeps {
  /** Null: nothing is stored. */
  readonly kept: { readonly all: AllConversations } | null;
  readonly bodies: BodyDeps;
}

const PATH = '/v1/codex/conversations';

interface Call {
  readonly all: AllConversations;
  readonly bodies: BodyDeps;
  readonly exchange: Exchange;
  readonly query: URLSearchParams;
  readonly id: string;
}

type Handle = (call: Call) => Promise<Response>;

/** The stored conversations and chains of responses of all keys, for operators. */
export const allConversationsRoutes = (deps: AllConversationsRouteDeps): readonly Route[] => {
  const route = (
    { method, path, scopes }: Pick<Route, 'method' | 'path' | 'scopes'>,
    handle: Handle,
  ): Route => ({
    method,
    path: `${PATH}${path}`,
    access: 'key',
    ...(scopes === undefined ? {} : { scopes }),
    handle(http, exchange, { id = '' }) {
      if (deps.kept === null) throw notStored();
      const query = new URL(http.url).searchParams;
      return handle({ all: deps.kept.all, bodies: deps.bodies, exchange, query, id });
    },
  });
  return [
    route({ method: 'GET', path: '', scopes: ['read'] }, list),
    route({ method: 'GET', path: '/:id', scopes: ['read'] }, find),
    route({ method: 'DELETE', path: '/:id', scopes: ['admin'] }, remove),
  ];
};

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

const notStored = () =>
  gatewayError('endpoint_not_supported', {
    message: 'This server stores nothing, so it has no conversations. Its operator set PROXY_STORE=off.',
  });

import { gatewayError } from '../../canonical/failure/failure.ts';
import {
  projectDeletedChat,
  projectStoredChat,
  projectStoredMessage,
  readMetadataFilter,
  withMessageIds,
} from '../../openai/chat/stored.ts';
import { CHAT_PATH } from '../../openai/chat/api.ts';
import { readNewMetadata } from '../../openai/conversations/read.ts';
import { listBody, pageOf } from '../../openai/shared/list-page.ts';
import { readListQuery } from '../../openai/shared/list-query.ts';
import { unreadQuery } from '../../openai/shared/unread-query.ts';
import type { StoredChats } from '../../state/stored-chats.ts';
import { ignoredHeader } from '../answer/ignored-header.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { loadLimits } from '../body/load-limits.ts';
import { readBody, type BodyDeps } from '../body/read-body.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Route } from '../server.ts';

export interface StoredChatDeps {
  /** Rejects if nothing more is stored for the key. */
  readonly mayKeep: (caller: string) => Promise<void>;
  /** Null: nothing is stored. */
  readonly kept: KeptChats | null;
  readonly bodies: BodyDeps;
}

export interface KeptChats {
  readonly chats: StoredChats;
}

/** Chat completions that were created with `store: true`. */
export const storedChatRoutes = (deps: StoredChatDeps): readonly Route[] => {
  const route = (method: Route['method'], path: string, handle: Handle): Route => ({
    method,
    path: `${CHAT_PATH}${path}`,
    access: 'key',
    handle(http, exchange, { id = '' }) {
      if (deps.kept === null) throw notStored();
      const query = new URL(http.url).searchParams;
      return handle({ http, exchange, query, id, ...deps, ...deps.kept });
    },
  });
  return [
    route('GET', '', list),
    route('GET', '/:id', find),
    route('POST', '/:id', update),
    route('DELETE', '/:id', remove),
    route('GET', '/:id/messages', listMessages),
  ];
};

interface Call extends KeptChats {
  readonly http: Request;
  readonly exchange: Exchange;
  readonly query: URLSearchParams;
  readonly id: string;
  readonly bodies: BodyDeps;
  readonly mayKeep: StoredChatDeps['mayKeep'];
}

type Handle = (call: Call) => Promise<Response>;

const list: Handle = async ({ exchange, chats, bodies, query }) => {
  const asked = {
    ...readListQuery(query, 'asc'),
    model: query.get('model'),
    metadata: readMetadataFilter(query),
  };
  const page = await chats.page(loadLimits(exchange, bodies), asked);
  const names = unreadQuery(query, ['model', 'metadata', 'limit', 'order', 'after']);
  const body = listBody(page.chats.map(projectStoredChat), page.hasMore);
  return jsonResponse(body, ignoredHeader(names), exchange.signal);
};

const find: Handle = async ({ exchange, chats, bodies, id }) =>
  jsonResponse(projectStoredChat(await chats.find(loadLimits(exchange, bodies), id)), {}, exchange.signal);

const update: Handle = async ({ http, exchange, chats, bodies, mayKeep, id }) => {
  const { metadata, ignored } = readNewMetadata(await readBody(http, exchange, bodies));
  await mayKeep(exchange.caller());
  const updated = await chats.update(loadLimits(exchange, bodies), id, metadata);
  return jsonResponse(projectStoredChat(updated), ignoredHeader(ignored), exchange.signal);
};

const remove: Handle = async ({ exchange, chats, id }) => {
  await chats.delete(exchange.caller(), id);
  return Response.json(projectDeletedChat(id));
};

const listMessages: Handle = async ({ exchange, chats, bodies, query, id }) => {
  const asked = readListQuery(query, 'asc');
  const messages = await chats.messages(loadLimits(exchange, bodies), id);
  const { entries, hasMore } = pageOf(withMessageIds(id, messages), asked);
  const data = entries.map((entry) => projectStoredMessage(entry.message, entry.id));
  const names = unreadQuery(query, ['limit', 'order', 'after', 'before']);
  return jsonResponse(listBody(data, hasMore), ignoredHeader(names), exchange.signal);
};

const notStored = () =>
  gatewayError('endpoint_not_supported', {
    message: 'This server stores no chat completions: its operator set PROXY_STORE=off.',
  });

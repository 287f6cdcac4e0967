import {
  projectDeletedChat,
  projectStoredChat,
  projectStoredMessage,
  readMetadataFilter,
  withMessageIds,
} from '../../../openai/chat/project.ts';
import { readNewMetadata } from '../../../openai/conversations/read.ts';
import { listBody, pageOf, readListQuery, unreadQuery } from '../../../openai/shared/list-page.ts';
import type { StoredChats } from '../stored-chats.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { loadLimits, readHeldBody, type BodyDeps } from '../../../http/body/read-json.ts';
import { withStore, type StoreHandler } from '../../../http/route.ts';

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
export const storedChatRoutes = ({ kept, mayKeep, bodies }: StoredChatDeps) => {
  const stored = withStore(kept === null ? null : { ...kept, mayKeep, bodies });
  return {
    'GET /v1/chat/completions': stored(list),
    'GET /v1/chat/completions/:id': stored(find),
    'POST /v1/chat/completions/:id': stored(update),
    'DELETE /v1/chat/completions/:id': stored(remove),
    'GET /v1/chat/completions/:id/messages': stored(listMessages),
  };
};

type Handle = StoreHandler<KeptChats & Omit<StoredChatDeps, 'kept'>>;

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
  const { metadata, ignored } = readNewMetadata(await readHeldBody(http, exchange, bodies));
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

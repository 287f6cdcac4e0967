import type { Item } from '../../../canonical/request/item.ts';
import {
  projectConversation,
  projectDeletedConversation,
  readNewConversation,
  readNewItems,
  readNewMetadata,
  type NewItems,
  type ReadNewItems,
} from '../../../openai/conversations/read.ts';
import { readInclude, projectStoredItem } from '../../../openai/responses/output/project-stored.ts';
import { listBody, readListQuery, unreadQuery } from '../../../openai/shared/list-page.ts';
import type { Conversations } from '../conversations.ts';
import type { ReferredItems } from '../referred-items.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { loadLimits, readHeldBody, type BodyDeps } from '../../../http/body/read-json.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import { withStore, type StoreHandler } from '../../../http/route.ts';

export interface ConversationRouteDeps {
  /** Rejects if nothing more is stored for the key. */
  readonly mayKeep: (caller: string) => Promise<void>;
  /** Null: nothing is stored. */
  readonly kept: KeptConversations | null;
  readonly bodies: BodyDeps;
}

export interface KeptConversations {
  readonly conversations: Conversations;
  /** Items that a body refers to. */
  readonly items: ReferredItems;
}

/** Conversations and their items. */
export const conversationRoutes = ({ kept, mayKeep, bodies }: ConversationRouteDeps) => {
  const stored = withStore(kept === null ? null : { ...kept, mayKeep, bodies });
  return {
    'POST /v1/conversations': stored(create),
    'GET /v1/conversations/:id': stored(find),
    'POST /v1/conversations/:id': stored(update),
    'DELETE /v1/conversations/:id': stored(remove),
    'POST /v1/conversations/:id/items': stored(addItems),
    'GET /v1/conversations/:id/items': stored(listItems),
    'GET /v1/conversations/:id/items/:item_id': stored(findItem),
    'DELETE /v1/conversations/:id/items/:item_id': stored(removeItem),
  };
};

type Handle = StoreHandler<KeptConversations & Omit<ConversationRouteDeps, 'kept'>>;

const create: Handle = async (call) => {
  const { http, exchange, conversations, bodies } = call;
  const parsed = readNewConversation(await readHeldBody(http, exchange, bodies, { ifEmpty: {} }));
  const { items, ignored } = await resolved(parsed, call);
  await call.mayKeep(exchange.caller());
  const created = await conversations.create(askOf(exchange), { items, metadata: parsed.metadata });
  return Response.json(projectConversation(created), { headers: ignoredHeader(ignored) });
};

const find: Handle = async ({ exchange, conversations, id }) =>
  Response.json(projectConversation(await conversations.find(exchange.caller(), id)));

const update: Handle = async ({ http, exchange, conversations, bodies, mayKeep, id }) => {
  const { metadata, ignored } = readNewMetadata(await readHeldBody(http, exchange, bodies));
  await mayKeep(exchange.caller());
  const updated = await conversations.update(exchange.caller(), id, metadata);
  return Response.json(projectConversation(updated), { headers: ignoredHeader(ignored) });
};

const remove: Handle = async ({ exchange, conversations, id }) => {
  await conversations.delete(askOf(exchange), id);
  return Response.json(projectDeletedConversation(id));
};

const addItems: Handle = async (call) => {
  const { http, exchange, conversations, bodies, query, id } = call;
  const include = readInclude(query);
  const parsed = readNewItems(await readHeldBody(http, exchange, bodies));
  const { items, ignored } = await resolved(parsed, call);
  await call.mayKeep(exchange.caller());
  const added = await conversations.addItems(askOf(exchange), id, items);
  const data = added.map((item) => projectStoredItem(item, include));
  const names = [...ignored, ...unreadQuery(query, ['include'])];
  return jsonResponse(listBody(data, false), ignoredHeader(names), exchange.signal);
};

const listItems: Handle = async ({ exchange, conversations, bodies, query, id }) => {
  const include = readInclude(query);
  const list = readListQuery(query, 'desc');
  const { items, hasMore } = await conversations.page(loadLimits(exchange, bodies), id, list);
  const data = items.map((item) => projectStoredItem(item, include));
  const names = unreadQuery(query, ['limit', 'order', 'after', 'include']);
  return jsonResponse(listBody(data, hasMore), ignoredHeader(names), exchange.signal);
};

const findItem: Handle = async ({ exchange, conversations, bodies, query, id, itemId }) => {
  const include = readInclude(query);
  const item = await conversations.item(loadLimits(exchange, bodies), id, itemId);
  const names = unreadQuery(query, ['include']);
  return jsonResponse(projectStoredItem(item, include), ignoredHeader(names), exchange.signal);
};

const removeItem: Handle = async ({ exchange, conversations, bodies, id, itemId }) =>
  Response.json(
    projectConversation(await conversations.deleteItem(loadLimits(exchange, bodies), id, itemId)),
  );

const askOf = (exchange: Exchange) => ({ caller: exchange.caller(), signal: exchange.signal });

/** Loads what the items of a body refer to, and reads them. */
const resolved = async (
  { references, read }: NewItems,
  { exchange, bodies, items }: Parameters<Handle>[0],
): Promise<ReadNewItems> => {
  const found: ReadonlyMap<string, Item> =
    references.length === 0 ? new Map() : await items.load(loadLimits(exchange, bodies), references);
  return read((id) => found.get(id) ?? null);
};

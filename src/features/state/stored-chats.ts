import { gatewayError, type GatewayError } from '../../canonical/failure/failure.ts';
import type { Clock } from '../../kit/ambient.ts';
import { runSliced } from '../../kit/async/event-loop.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';
import type { ChatRow, StateStore } from './store/port.ts';
import type { KeptChat } from '../../turns/api.ts';
import type { LoadLimits } from '../../turns/turn-state.ts';
import { printed, type Metadata, corrupt, parseStoredBody } from './stored-turn.ts';
import { stateError } from './failures.ts';

/** A stored chat completion. */
export interface StoredChat {
  readonly id: string;
  /** The answer as its client got it. */
  readonly object: JsonObject;
  readonly metadata: Metadata;
}

export interface ChatQuery {
  readonly model: string | null;
  /** All of these pairs. */
  readonly metadata: Metadata;
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

export interface ChatPage {
  readonly chats: readonly StoredChat[];
  readonly hasMore: boolean;
}

export type ChatAsk = LoadLimits & { readonly caller: string };

export interface StoredChatsDeps {
  readonly store: StateStore;
  readonly clock: Clock;
  /** How long a completion is kept, from its creation. */
  readonly ttlMs: number;
}

const FORM = 1;
/** Completions that are read at once. */
const MAX_ROWS = 20;
/** A page ends early beyond so many characters. */
const MAX_PAGE_CHARS = 16 * 1024 * 1024;

/** Chat completions that were created with `store: true`. Throws if the caller has no such completion. */
export class StoredChats {
  readonly #deps: StoredChatsDeps;

  constructor(deps: StoredChatsDeps) {
    this.#deps = deps;
  }

  async add(
    { caller, signal }: ChatAsk,
    { id, model, metadata, messages }: KeptChat,
    object: unknown,
  ): Promise<void> {
    // Not the second that the answer shows: a list is in the order in which completions were stored.
    const createdAt = this.#deps.clock.now();
    await this.#deps.store.chats.add({
      id,
      owner: caller,
      model,
      createdAt,
      expiresAt: createdAt + this.#deps.ttlMs,
      metadata,
      body: await printed({ form: FORM, object }, signal),
      messages: await printed({ form: FORM, messages }, signal),
    });
  }

  async find(ask: ChatAsk, id: string): Promise<StoredChat> {
    return shown(await this.#row(ask, id), ask.signal);
  }

  /** The messages of the request. */
  async messages(ask: ChatAsk, id: string): Promise<readonly JsonObject[]> {
    const body = (await this.#row(ask, id)).messages;
    const { messages } = await runSliced(parseStoredBody(body, `chat completion ${id}`), ask.signal);
    if (!Array.isArray(messages) || !messages.every(isJsonObject)) throw corrupt(`chat completion ${id}`);
    return messages;
  }

  async page(ask: ChatAsk, query: ChatQuery): Promise<ChatPage> {
    const { after, limit } = query;
    if (after !== null && (await this.#deps.store.chats.find(ask.caller, after)) === null) {
      throw unknownCursor(after);
    }
    const chats: StoredChat[] = [];
    let chars = 0;
    for (let from = after; ;) {
      // One more than asked for says whether there are more.
      const count = Math.min(MAX_ROWS, limit + 1 - chats.length);
      const rows = await this.#deps.store.chats.list(ask.caller, { ...query, after: from, limit: count });
      for (const row of rows) {
        ask.onBytes(row.body.length);
        chars += row.body.length;
        chats.push(await shown(row, ask.signal));
        from = row.id;
      }
      ask.signal.throwIfAborted();
      if (rows.length < count || chats.length > limit) return cut(chats, limit);
      if (chars > MAX_PAGE_CHARS && chats.length > 1) return cut(chats, chats.length - 1);
    }
  }

  async update(ask: ChatAsk, id: string, metadata: Metadata): Promise<StoredChat> {
    const { body } = await this.#row(ask, id);
    const row = await this.#deps.store.chats.update(ask.caller, id, { metadata, body });
    if (row === null) throw unknownChat(id);
    return shown(row, ask.signal);
  }

  async delete(caller: string, id: string): Promise<void> {
    if (!(await this.#deps.store.chats.delete(caller, id))) throw unknownChat(id);
  }

  async #row({ caller, onBytes }: ChatAsk, id: string): Promise<ChatRow> {
    const row = await this.#deps.store.chats.find(caller, id);
    if (row === null) throw unknownChat(id);
    onBytes(row.body.length + row.messages.length);
    return row;
  }
}

const cut = (chats: readonly StoredChat[], limit: number): ChatPage => ({
  chats: chats.slice(0, limit),
  hasMore: chats.length > limit,
});

const shown = async (
  { id, body, metadata }: Pick<ChatRow, 'id' | 'body' | 'metadata'>,
  signal: AbortSignal,
): Promise<StoredChat> => {
  const { form, object } = await runSliced(parseStoredBody(body, `chat completion ${id}`), signal);
  if (form !== FORM || !isJsonObject(object)) throw corrupt(`chat completion ${id}`);
  return { id, object, metadata };
};

const unknownChat = (id: string): GatewayError =>
  stateError('unknown_chat_completion', { message: `Chat completion with id '${quoted(id)}' not found.` });

const unknownCursor = (id: string): GatewayError =>
  gatewayError('invalid_value', {
    param: 'after',
    message: `Invalid 'after': there is no stored chat completion with id '${quoted(id)}'.`,
  });

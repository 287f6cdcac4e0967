import { GatewayError, gatewayError } from '../../canonical/failure/failure.ts';
import { isCompactionTrigger } from '../../canonical/request/compaction.ts';
import {
  hasNoContent,
  isSummary,
  type Item,
  type Part,
  type Produced,
} from '../../canonical/request/item.ts';
import type { SentRequest } from '../../http/turn/start-turn.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { atOnce, runSliced, type Sliced } from '../../kit/async/event-loop.ts';
import { readJsonSteps } from '../../kit/json/json-reader.ts';
import { isHeavy, writeJsonSteps } from '../../kit/json/json-writer.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { isRandomId } from '../../kit/text/patterns.ts';
import type { ConversationRow, ResponseRow, ResponseStatus, TurnRow } from './store/port.ts';

/** What one request added to a conversation, in the order in which the model read and wrote it. */
export interface StoredTurn {
  readonly input: readonly Item[];
  readonly output: readonly Produced[];
  /** The ids of items that were deleted from their conversation. */
  readonly hidden?: readonly string[];
}

/** The form of the bodies. A program reads the forms of all earlier programs. */
const FORM = 1;

export const turnBody = (turn: StoredTurn): object => ({ form: FORM, ...turn });

/** Reads a turn in slices. Throws if the row is not what this program wrote. */
export function* readStoredTurn({ key, body }: Pick<TurnRow, 'key' | 'body'>): Sliced<StoredTurn> {
  const { form, input, output, hidden } = yield* parseStoredBody(body, `turn ${key}`);
  if (form !== FORM || !isItems(input) || !isProduced(output)) throw corrupt(`turn ${key}`);
  return { input, output, ...(Array.isArray(hidden) ? { hidden: hidden as readonly string[] } : {}) };
}

/** Beyond this the event loop would notice. */
const LONG_CHARS = 64 * 1024;

/** In slices: a body may have megabytes. Throws if it is not a JSON object. */
export function* parseStoredBody(body: string, row: string): Sliced<Readonly<Record<string, unknown>>> {
  try {
    const parsed: unknown =
      body.length > LONG_CHARS ? yield* readJsonSteps(new TextEncoder().encode(body)) : JSON.parse(body);
    if (isJsonObject(parsed)) return parsed;
  } catch {
    // Reported below, without the content.
  }
  throw corrupt(row);
}

/** Whether something stored cannot be read: it is damaged, or its key is missing in PROXY_STORE_KEY. */
export const isCorrupt = (error: unknown): boolean =>
  error instanceof GatewayError && error.failure.kind === 'store_corrupt';

export const corrupt = (row: string) =>
  gatewayError('store_corrupt', { message: `The stored ${row} cannot be read.` });

const isItems = (value: unknown): value is readonly Item[] =>
  Array.isArray(value) && value.every((item) => isJsonObject(item) && typeof item['kind'] === 'string');

const isProduced = (value: unknown): value is readonly Produced[] =>
  isItems(value) && value.every(({ id }) => typeof id === 'string');

/** An item of a stored turn, with the id by which clients know it. */
export interface StoredItem {
  readonly id: string;
  readonly item: Item;
}

/**
 * All items with their ids. Ids of input items belong to their clients and may repeat, and so do those of backends that
 * number them: such items get ids of ours.
 */
export const storedItems = (key: string, { input, output }: StoredTurn): readonly StoredItem[] => [
  ...input.map((item, index) => ({ id: inputItemId(key, index, item), item })),
  ...output.map((item, index) => ({
    id: isRandomId(item.id) ? item.id : inputItemId(key, input.length + index, item),
    item,
  })),
];

/** The items that were not deleted. */
export const visibleItems = (key: string, turn: StoredTurn): readonly StoredItem[] => {
  const hidden = new Set(turn.hidden);
  return storedItems(key, turn).filter(({ id }) => !hidden.has(id));
};

/** The items as the next turn sends them to the model. */
export const sentItems = (key: string, turn: StoredTurn): readonly Item[] =>
  visibleItems(key, turn).flatMap(({ item }) => sentBack(item));

/**
 * An item as a client would send it back: without what answers show and requests do not have. A model request is then the
 * same, whether its conversation was stored or sent, and the backend's prompt cache applies to both.
 */
const sentBack = (item: Item): readonly Item[] => {
  // The compaction that was asked for is in the conversation.
  if (isHalfWritten(item) || isCompactionTrigger(item)) return [];
  switch (item.kind) {
    case 'message': {
      if (item.role !== 'assistant') return [item];
      const { status: _, ...rest } = item;
      // A model has no use for its empty messages.
      return hasNoContent(item.parts) ? [] : [{ ...rest, parts: item.parts.map(withoutLogprobs) }];
    }
    case 'reasoning':
    case 'tool-call': {
      const { status: _, ...rest } = item;
      return [rest];
    }
    case 'hosted-call': {
      const { status: _, modelCallId: __, ...rest } = item;
      return [rest];
    }
    case 'compaction': {
      if (!isSummary(item)) return [item];
      const { id: _, ...rest } = item;
      return [rest];
    }
    case 'tool-output':
    case 'loaded-tools':
    case 'opaque':
      return [item];
    default:
      return assertNever(item);
  }
};

const withoutLogprobs = (part: Part): Part => {
  if (part.kind !== 'text' || part.logprobs === undefined) return part;
  const { logprobs: _, ...rest } = part;
  return rest;
};

/** A message that was cut off can be continued; a call or a thought that was cut off is of no use to a model. */
const isHalfWritten = (item: Item): boolean =>
  item.kind !== 'message' && 'status' in item && item.status === 'incomplete';

/** What a response has besides the items of its turn. */
interface StoredResponse {
  /** The response object as its client saw it, with an empty `output`. */
  readonly object: JsonObject;
  /** The output as its client saw it, if that differs from what the model wrote. */
  readonly shown?: readonly Produced[];
  /** The `include` of the request that created it; absent: none. */
  readonly include?: readonly string[];
  /** The request of a background response that has not ended, if it can run again. */
  readonly request?: SentRequest;
}

const RUNNING: ReadonlySet<ResponseStatus> = new Set(['queued', 'in_progress']);

export const isRunning = (status: ResponseStatus): boolean => RUNNING.has(status);

const RESPONSE_FORM = 1;

export const responseBody = (response: StoredResponse): object => ({ form: RESPONSE_FORM, ...response });

/** Reads a response in slices. Throws if the row is not what this program wrote. */
export function* readResponse({ id, body }: Pick<ResponseRow, 'id' | 'body'>): Sliced<StoredResponse> {
  const { form, object, shown, include, request } = yield* parseStoredBody(body, `response ${id}`);
  if (form !== RESPONSE_FORM || !isJsonObject(object)) throw corrupt(`response ${id}`);
  return {
    object,
    ...(isProduced(shown) ? { shown } : {}),
    ...(Array.isArray(include) ? { include: include as readonly string[] } : {}),
    ...(isStoredRequest(request) ? { request } : {}),
  };
}

const isStoredRequest = (value: unknown): value is SentRequest =>
  isJsonObject(value) &&
  isJsonObject(value['body']) &&
  isJsonObject(value['headers']) &&
  typeof value['reruns'] === 'number';

export type Metadata = Readonly<Record<string, string>>;

const CONVERSATION_FORM = 1;

export const conversationBody = (metadata: Metadata): string =>
  JSON.stringify({ form: CONVERSATION_FORM, metadata });

/** Throws if the row is not what this program wrote. */
export const readConversation = ({ id, body }: Pick<ConversationRow, 'id' | 'body'>): Metadata => {
  const { form, metadata } = atOnce(parseStoredBody(body, `conversation ${id}`));
  if (form !== CONVERSATION_FORM || !isMetadata(metadata)) throw corrupt(`conversation ${id}`);
  return metadata;
};

const isMetadata = (value: unknown): value is Metadata =>
  isJsonObject(value) && Object.values(value).every((one) => typeof one === 'string');

/** The id of an input item names its turn and its place there, so it needs no index. */
export const inputItemId = (turnKey: string, index: number, item: Item): string =>
  `${prefixOf(item)}_${turnKey}${index.toString(16).padStart(4, '0')}`;

/** The turn and the place that an id names; null: the id is not one of an input item. */
export const readInputItemId = (id: string): { readonly turnKey: string; readonly index: number } | null => {
  const [, turnKey, index] = /^[a-z]+_([0-9a-f]{32})([0-9a-f]{4,5})$/.exec(id) ?? [];
  return turnKey === undefined || index === undefined ? null : { turnKey, index: Number.parseInt(index, 16) };
};

/** OpenAI's prefixes. */
const prefixOf = (item: Item): string => {
  switch (item.kind) {
    case 'message':
      return 'msg';
    case 'reasoning':
      return 'rs';
    case 'tool-call':
      return item.tool === 'function' ? 'fc' : 'ctc';
    case 'tool-output':
      return item.tool === 'function' ? 'fco' : 'ctco';
    case 'compaction':
      return 'cmp';
    case 'hosted-call':
    case 'loaded-tools':
    case 'opaque':
      return 'item';
    default:
      return assertNever(item);
  }
};

/** Beyond this the event loop would notice. */
const LONG_BODY_CHARS = 256 * 1024;

/** The JSON text of a row's body. */
export const printed = async (value: object, signal: AbortSignal): Promise<string> =>
  isHeavy(value, LONG_BODY_CHARS)
    ? (await runSliced(writeJsonSteps(value), signal)).join('')
    : JSON.stringify(value);

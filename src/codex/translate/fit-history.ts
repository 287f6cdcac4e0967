import { itemFacts } from '../../canonical/request/item-facts.ts';
import { isModelOutput, isReasoning, type Item, type Reasoning } from '../../canonical/request/item.ts';
import { typeOf } from './inject-items.ts';

/** The client's items and their positions in its request. */
export interface History {
  readonly items: readonly Item[];
  /** Of each item; null: one of ours, unknown to the client. Null for all: each has its position in `items`. */
  readonly places: readonly (number | null)[] | null;
}

/** The position of an item in the client's request; null: it is one of ours. */
export const placeOf = ({ places }: Pick<History, 'places'>, index: number): number | null =>
  places === null ? index : (places[index] ?? null);

export interface FittedHistory extends History {
  /** Positions of dropped items that might have mattered to the model. Not of ours, which no client could replace. */
  readonly ignored: readonly number[];
}

/** The whole history of a request. */
export const wholeHistory = (items: readonly Item[]): History => ({ items, places: null });

export interface HistoryRules {
  /** `own`: ids must look like the backend's own, with the prefix of their kind and at most 64 characters. */
  readonly ids: 'any' | 'own';
  /** `encrypted`: only reasoning that the backend can decrypt, directly before the output it led to. */
  readonly reasoning: 'any' | 'encrypted';
  /** Whether another account or backend encrypted this reasoning; absent: the backend is asked. */
  readonly isForeign?: (reasoning: Reasoning) => boolean;
  /** `whole`: the app-server does not accept an image call without an image. */
  readonly images?: 'any' | 'whole';
}

/** The backend of a ChatGPT login rejects a whole request for one invalid item. */
export const CHATGPT_HISTORY: HistoryRules = { ids: 'own', reasoning: 'encrypted' };
/** Others get what the client sent. */
export const OTHER_HISTORY: HistoryRules = { ids: 'any', reasoning: 'any' };

/**
 * Adapts a client's history to what the backend accepts: clients invent ids, move a conversation between
 * backends, and keep reasoning that was never stored. The result may be empty.
 */
export const fitHistory = (history: History, rules: HistoryRules): FittedHistory => {
  const { hasReasoning, hasRaw } = itemFacts(history.items);
  const mayDrop = hasReasoning || (hasRaw && rules.images === 'whole');
  const kept = without(history, mayDrop ? unfittingIn(history.items, rules) : NONE);
  return rules.ids === 'any' || !itemFacts(kept.items).hasId
    ? kept
    : { ...kept, items: withFittingIds(kept.items) };
};

/**
 * The history without encrypted reasoning that the backend cannot read: that of another account or backend, or all of it for
 * a second attempt. Null: there is none, or nothing else.
 */
export const withoutReasoning = (
  history: History,
  isUnreadable: (reasoning: Reasoning) => boolean = () => false,
): FittedHistory | null => {
  const { items } = history;
  if (!itemFacts(items).hasReasoning) return null;
  const unreadable = new Set(
    items.flatMap((item, index) =>
      isReasoning(item) && isEncrypted(item) && isUnreadable(item) ? [index] : [],
    ),
  );
  return unreadable.size === 0 || unreadable.size === items.length ? null : without(history, unreadable);
};

const NONE: ReadonlySet<number> = new Set();

/** The history without the items at these indices. */
const without = ({ items, places }: History, leftOut: ReadonlySet<number>): FittedHistory => {
  if (leftOut.size === 0) return { items, places, ignored: [] };
  const kept: Item[] = [];
  const keptPlaces: (number | null)[] = [];
  const ignored: number[] = [];
  for (const [index, item] of items.entries()) {
    const place = placeOf({ places }, index);
    if (!leftOut.has(index)) {
      kept.push(item);
      keptPlaces.push(place);
    } else if (place !== null && !isOurs(item)) ignored.push(place);
  }
  return { items: kept, places: keptPlaces, ignored };
};

/** Reasoning that this server stored or signed. */
const isOurs = (item: Item): boolean => isReasoning(item) && item.origin !== undefined;

/** The indices of items that the backend does not accept. */
const unfittingIn = (items: readonly Item[], rules: HistoryRules): ReadonlySet<number> => {
  const unfitting = new Set<number>();
  /** The next item that is not reasoning: a model may reason several times in a row. */
  let next: Item | undefined;
  // Backwards, so that a long run of reasoning takes linear time.
  for (let index = items.length - 1; index >= 0; index -= 1) {
    const item = items[index];
    if (item === undefined) continue;
    if (!isFitting(item, next, rules)) unfitting.add(index);
    if (!isReasoning(item)) next = item;
  }
  return unfitting;
};

/** Items without a result are dropped. */
const isFitting = (item: Item, next: Item | undefined, rules: HistoryRules): boolean => {
  if (rules.images === 'whole' && isCutImage(item)) return false;
  if (!isReasoning(item)) return true;
  if (rules.reasoning === 'encrypted') return isEncrypted(item) && next !== undefined && isModelOutput(next);
  return isUsableReasoning(item);
};

/** An id and a summary are not enough for a model. */
export const isUsableReasoning = (reasoning: Reasoning): boolean =>
  isEncrypted(reasoning) || (reasoning.content ?? []).some((text) => text !== '');
const isCutImage = (item: Item): boolean =>
  item.kind === 'hosted-call' &&
  item.raw.type === 'image_generation_call' &&
  typeof item.raw['result'] !== 'string';

export const isEncrypted = ({ encryptedContent }: Reasoning): boolean => (encryptedContent ?? '') !== '';

/** Prefixes of the backend's own ids, by item type. */
const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  function_call_output: 'fco',
  custom_tool_call: 'ctc',
  custom_tool_call_output: 'ctco',
  compaction: 'cmp',
  web_search_call: 'ws',
  image_generation_call: 'ig',
  tool_search_call: 'tsc',
  tool_search_output: 'tso',
};

const MAX_ID = 64;

/** Silently drops invalid ids, which mean nothing to the model; a call keeps its output. */
const withFittingIds = (items: readonly Item[]): readonly Item[] => {
  const used = new Set<string>();
  const isOwn = (id: string, prefix: string | undefined): boolean => {
    if (used.has(id) || id.length > MAX_ID) return false;
    // The id format of unlisted items is unknown.
    if (prefix !== undefined && (!id.startsWith(`${prefix}_`) || !/^[\w-]+$/.test(id))) return false;
    // Ids must be unique within a request.
    used.add(id);
    return true;
  };
  const callIds = new CallIds(items);
  return sameOr(
    items,
    items.map((item) => {
      const fitted = withFittingId(item, isOwn);
      const callId = callIdOf(fitted);
      return callId === null || callId.length <= MAX_ID ? fitted : withCallId(fitted, callIds.of(callId));
    }),
  );
};

const withFittingId = (item: Item, isOwn: (id: string, prefix: string | undefined) => boolean): Item => {
  if (item.id === undefined || isOwn(item.id, PREFIXES[typeOf(item)])) return item;
  const { id: _, ...rest } = item;
  return rest;
};

/** The array itself if nothing has changed: what is known about it stays known. */
const sameOr = (items: readonly Item[], changed: readonly Item[]): readonly Item[] =>
  changed.every((item, index) => item === items[index]) ? items : changed;

/** The id that links a call and its output, also of items that are passed through unread. */
const callIdOf = (item: Item): string | null => {
  if ('callId' in item) return item.callId;
  const callId = 'raw' in item ? item.raw['call_id'] : null;
  return typeof callId === 'string' ? callId : null;
};

const withCallId = (item: Item, callId: string): Item => {
  if ('callId' in item) return { ...item, callId };
  return 'raw' in item ? { ...item, raw: { ...item.raw, call_id: callId } } : item;
};

/**
 * Short forms of call ids that are too long: the same for a call and its output and in every turn, and
 * distinct from other ids.
 */
class CallIds {
  readonly #items: readonly Item[];
  readonly #short = new Map<string, string>();
  /** Collected for the first long id. */
  #taken: Set<string | null> | null = null;

  constructor(items: readonly Item[]) {
    this.#items = items;
  }

  /** The short form of a long id. */
  of(callId: string): string {
    const known = this.#short.get(callId);
    if (known !== undefined) return known;
    const taken = (this.#taken ??= new Set(this.#items.map(callIdOf)));
    const short = this.#shorten(callId, taken);
    this.#short.set(callId, short);
    taken.add(short);
    return short;
  }

  #shorten(callId: string, taken: ReadonlySet<string | null>): string {
    for (let salt = 0; ; salt += 1) {
      const suffix = `_${hashOf(callId, salt)}`;
      // Never split a surrogate pair: the app-server would not answer.
      const short = callId.slice(0, MAX_ID - suffix.length).toWellFormed() + suffix;
      if (!taken.has(short)) return short;
    }
  }
}

/** FNV-1a twice: 16 hex digits. Callers handle collisions. */
const hashOf = (text: string, salt: number): string =>
  [0x811c9dc5, 0x01000193]
    .map((seed) =>
      fnv(text, seed ^ salt)
        .toString(16)
        .padStart(8, '0'),
    )
    .join('');

const fnv = (text: string, seed: number): number => {
  let hash = seed;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
};

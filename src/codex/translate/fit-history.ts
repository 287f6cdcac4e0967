import { isModelOutput, isReasoning, type Item, type Reasoning } from '../../canonical/request/item.ts';
import { typeOf } from './inject-items.ts';

/** What a client sent, and where each item stands in its request. */
export interface History {
  readonly items: readonly Item[];
  /** Null: it is of ours, and the client knows nothing of it. */
  readonly places: readonly (number | null)[];
}

export interface FittedHistory extends History {
  /** The places of items that were left out and might have meant something to the model. */
  readonly ignored: readonly number[];
}

/** The whole history of a request. */
export const wholeHistory = (items: readonly Item[]): History => ({
  items,
  places: items.map((_, index) => index),
});

export interface HistoryRules {
  /** `own`: ids must look like the backend's own, with the prefix of their kind and at most 64 characters. */
  readonly ids: 'any' | 'own';
  /** `encrypted`: only reasoning that the backend can decrypt, in front of what it led to. */
  readonly reasoning: 'any' | 'encrypted';
  /** `whole`: the app-server takes no call of an image tool that came to no image. */
  readonly images?: 'any' | 'whole';
}

/** The backend of a ChatGPT login refuses a whole request for one item that breaks its rules. */
export const CHATGPT_HISTORY: HistoryRules = { ids: 'own', reasoning: 'encrypted' };
/** Others get what the client sent. */
export const OTHER_HISTORY: HistoryRules = { ids: 'any', reasoning: 'any' };

/**
 * A history as real clients send it → one that the backend takes: clients make up ids, carry a
 * conversation from one backend to another, and keep reasoning that nobody stored. Nothing may be left.
 */
export const fitHistory = (history: History, rules: HistoryRules): FittedHistory => {
  const next = nextOfEach(history.items);
  const kept = without(history, (item, index) => !isFitting(item, next[index], rules));
  return rules.ids === 'any' ? kept : { ...kept, items: withFittingIds(kept.items) };
};

/**
 * For a second attempt, when the backend could not decrypt what it was sent: reasoning of another
 * account or another backend. Null: there is no other history to try.
 */
export const withoutReasoning = (history: History): FittedHistory | null => {
  const rest = without(history, (item) => isReasoning(item) && isEncrypted(item));
  const isSame = rest.items.length === history.items.length;
  return isSame || rest.items.length === 0 ? null : rest;
};

const without = (
  { items, places }: History,
  isLeftOut: (item: Item, index: number) => boolean,
): FittedHistory => {
  const leftOut = items.map(isLeftOut);
  return {
    items: items.filter((_, index) => leftOut[index] !== true),
    places: places.filter((_, index) => leftOut[index] !== true),
    ignored: places.flatMap((place, index) => (place !== null && leftOut[index] === true ? [place] : [])),
  };
};

/** What comes to nothing says nothing. */
const isFitting = (item: Item, next: Item | undefined, rules: HistoryRules): boolean => {
  if (rules.images === 'whole' && isCutImage(item)) return false;
  if (!isReasoning(item)) return true;
  if (rules.reasoning === 'encrypted') return isEncrypted(item) && next !== undefined && isModelOutput(next);
  return isUsableReasoning(item);
};

/** Nothing is stored between requests, so reasoning that is only an id and a summary is lost. */
export const isUsableReasoning = (reasoning: Reasoning): boolean =>
  isEncrypted(reasoning) || (reasoning.content ?? []).some((text) => text !== '');
const isCutImage = (item: Item): boolean =>
  item.kind === 'hosted-call' &&
  item.raw.type === 'image_generation_call' &&
  typeof item.raw['result'] !== 'string';

const isEncrypted = ({ encryptedContent }: Reasoning): boolean => (encryptedContent ?? '') !== '';

/** What comes behind each item and is no reasoning: the model may reason several times in a row. */
const nextOfEach = (items: readonly Item[]): readonly (Item | undefined)[] => {
  const nexts: (Item | undefined)[] = [];
  let next: Item | undefined;
  // From behind, so that a long row of reasoning is passed once and not once for each of it.
  for (const item of items.toReversed()) {
    nexts.push(next);
    if (!isReasoning(item)) next = item;
  }
  return nexts.toReversed();
};

/** What the backend's own ids begin with, by the type of the item. */
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

/** An id that does not fit means nothing to the model, so it goes without a word; a call keeps its output. */
const withFittingIds = (items: readonly Item[]): readonly Item[] => {
  const used = new Set<string>();
  const isOwn = (id: string, prefix: string | undefined): boolean => {
    if (used.has(id) || id.length > MAX_ID) return false;
    // Of an item that is not listed nobody knows how its ids look.
    if (prefix !== undefined && (!id.startsWith(`${prefix}_`) || !/^[\w-]+$/.test(id))) return false;
    // No two items of a request may have one id.
    used.add(id);
    return true;
  };
  const callIds = new CallIds(items);
  return items.map((item) => {
    const { id, ...rest } = item;
    const fitted = id === undefined || isOwn(id, PREFIXES[typeOf(item)]) ? item : rest;
    const callId = callIdOf(fitted);
    return callId === null ? fitted : withCallId(fitted, callIds.of(callId));
  });
};

/** By which a call and its output belong together, also where nobody reads the rest of them. */
const callIdOf = (item: Item): string | null => {
  if ('callId' in item) return item.callId;
  const callId = 'raw' in item ? item.raw['call_id'] : null;
  return typeof callId === 'string' ? callId : null;
};

const withCallId = (item: Item, callId: string): Item => {
  if ('callId' in item) return { ...item, callId };
  return 'raw' in item && item.raw['call_id'] !== callId
    ? { ...item, raw: { ...item.raw, call_id: callId } }
    : item;
};

/**
 * Short names for call ids that are too long, the same on a call and its output and from turn to
 * turn, and never that of another call.
 */
class CallIds {
  readonly #short = new Map<string, string>();
  readonly #taken: Set<string | null>;

  constructor(items: readonly Item[]) {
    const all = items.map(callIdOf);
    this.#taken = new Set(all.filter((callId) => callId !== null && callId.length <= MAX_ID));
  }

  of(callId: string): string {
    if (callId.length <= MAX_ID) return callId;
    const short = this.#short.get(callId) ?? this.#shorten(callId);
    this.#short.set(callId, short);
    this.#taken.add(short);
    return short;
  }

  #shorten(callId: string): string {
    for (let salt = 0; ; salt += 1) {
      const suffix = `_${hashOf(callId, salt)}`;
      // A character must not be cut in two: the app-server would never answer.
      const short = callId.slice(0, MAX_ID - suffix.length).toWellFormed() + suffix;
      if (!this.#taken.has(short)) return short;
    }
  }
}

/** FNV-1a, twice: 16 hex digits. What it may confuse is seen by whoever uses it. */
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

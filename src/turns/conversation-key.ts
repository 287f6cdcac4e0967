import { createHash } from 'node:crypto';

import { partsOf, withParts, type Item } from '../canonical/request/item.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { isJsonObject } from '../kit/json/json.ts';

export interface Client {
  /** Two callers never share a conversation: the same name means two things. */
  readonly caller: string;
  /** The conversation or session that the client named. */
  readonly session: string | null;
}

/**
 * What is the same for all requests of one conversation: the name that the client gave it, else how
 * it began. Taken from what the client sent, before images are fetched: the bytes behind a URL may
 * change from one turn to the next, and are not worth hashing by the megabyte.
 */
export const conversationKey = (request: TurnRequest, { caller, session }: Client): string => {
  const named = request.cache.key ?? session;
  const about = named === null ? beginningOf(request) : excerptOf(named);
  const text = JSON.stringify([excerptOf(caller), about]);
  // Half of the digest is more than enough to tell conversations apart.
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
};

/** What no later turn of a conversation changes: how it began, up to the first thing the user said. */
const beginningOf = (request: TurnRequest): unknown => {
  const first = request.items.findIndex((item) => item.kind === 'message' && item.role === 'user');
  const items = request.items.slice(0, Math.max(0, first) + 1).filter((item) => isPrompt(item));
  // Each by itself: many tools must not hide what was said.
  return [request.model, request.instructions, request.tools, items.map(withoutPassing)].map(excerptOf);
};

const isPrompt = (item: Item): boolean => item.kind === 'message' && item.role !== 'assistant';

/** A client may send an item back under an id that it got in the meantime, and moves cache breakpoints on. */
const withoutPassing = (item: Item): unknown => {
  const { id: _, ...rest } = withParts(
    item,
    partsOf(item).parts.map((part) => {
      if (!('cacheBreakpoint' in part)) return part;
      const { cacheBreakpoint: __, ...own } = part;
      return own;
    }),
  );
  return rest;
};

/** How much of both ends of a long text is looked at. */
const END = 8 * 1024;
/** Of the tools, and of the first messages; what follows does not distinguish conversations. */
const MAX_VALUES = 1_000;
/** Behind so much text, its length and a few characters must do. */
const MAX_CHARS = 1024 * 1024;
const SHORT_END = 32;

/** A value cut down to what names it: short texts, and the first of very many values. */
const excerptOf = (value: unknown): unknown => new Excerpt().of(value);

class Excerpt {
  #left = MAX_VALUES;
  #chars = MAX_CHARS;

  of(value: unknown): unknown {
    this.#left -= 1;
    if (typeof value === 'string') return this.#text(value);
    if (Array.isArray(value)) return this.#some(value).map((one) => this.of(one));
    if (!isJsonObject(value)) return value;
    return Object.fromEntries(this.#some(Object.keys(value)).map((key) => [key, this.of(value[key])]));
  }

  /** Images and files are megabytes long; their length and both ends tell them apart. */
  #text(text: string): unknown {
    const end = this.#chars > 0 ? END : SHORT_END;
    this.#chars -= Math.min(text.length, 2 * end);
    return text.length <= 2 * end ? text : [text.length, text.slice(0, end), text.slice(-end)];
  }

  #some<One>(list: readonly One[]): readonly One[] {
    return list.slice(0, Math.max(0, this.#left));
  }
}

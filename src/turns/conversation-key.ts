import { createHash } from 'node:crypto';

import { partsOf, withParts, type Item } from '../canonical/request/item.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import { isJsonObject } from '../kit/json/json.ts';
import type { ModelBudget } from '../canonical/context/model-budget.ts';
import type { TurnContext, TurnSteering, Turn } from '../canonical/context/turn-context.ts';
import { mapAll, type OneOrMore } from '../kit/collections/lists.ts';
import { backgroundOf, requestsOf, type ParsedRequest } from './api.ts';
import type { RunCall, RunDeps } from './run-deps.ts';

export interface ClientSession {
  /** Two callers never share a conversation, even under the same name. */
  readonly caller: string;
  /** The conversation or session named by the client. */
  readonly session: string | null;
}

/**
 * A key shared by all requests of one conversation: the client's name for it, else a hash of its beginning. Computed
 * before images are fetched: the bytes of a URL may change between turns, and are too large to hash.
 */
export const conversationKey = (request: TurnRequest, { caller, session }: ClientSession): string => {
  const named = request.cache.key ?? session;
  const about = named === null ? beginningOf(request) : excerptOf(named);
  const text = JSON.stringify([excerptOf(caller), about]);
  // Half of the digest is enough.
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
};

/** The part of a conversation that later turns do not change: everything up to the first user message. */
const beginningOf = (request: TurnRequest): unknown => {
  const first = request.items.findIndex((item) => item.kind === 'message' && item.role === 'user');
  const items = request.items.slice(0, Math.max(0, first) + 1).filter((item) => isPrompt(item));
  // Each has its own limit: many tools must not crowd out the messages.
  return [request.model, request.instructions, request.tools, items.map(withoutPassing)].map(excerptOf);
};

const isPrompt = (item: Item): boolean => item.kind === 'message' && item.role !== 'assistant';

/** Removes what clients change between turns: item ids and cache breakpoints. */
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

/** Characters hashed at each end of a long text. */
const END = 8 * 1024;
/** Limit for the tools, and for the first messages; later values do not distinguish conversations. */
const MAX_VALUES = 1_000;
/** After this much text, only lengths and a few characters are hashed. */
const MAX_CHARS = 1024 * 1024;
const SHORT_END = 32;

/** Reduces a value to short texts and its first entries. */
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

  /** Images and files are megabytes long; their length and both ends distinguish them. */
  #text(text: string): unknown {
    const end = this.#chars > 0 ? END : SHORT_END;
    this.#chars -= Math.min(text.length, 2 * end);
    return text.length <= 2 * end ? text : [text.length, text.slice(0, end), text.slice(-end)];
  }

  #some<One>(list: readonly One[]): readonly One[] {
    return list.slice(0, Math.max(0, this.#left));
  }
}

interface TurnParts {
  readonly deps: RunDeps;
  readonly steering: TurnSteering | null;
  readonly openBudget: () => ModelBudget;
  /** Null: the request runs several turns, which have one reservation. */
  readonly reserve: NonNullable<TurnContext['reserve']> | null;
}

/** The turns of a request, if the key may run them. */
export const turnsOf = async (
  parsed: ParsedRequest,
  call: RunCall,
  { deps, openBudget, steering, reserve }: TurnParts,
): Promise<OneOrMore<Turn>> => {
  const { caller, session, state, trace, traceContext, isSteered } = call;
  const requests = await deps.gate.allow({
    caller,
    requests: requestsOf(parsed),
    nameOf: (path) => parsed.nameOf(path),
  });
  return mapAll(requests, (one): Turn => ({
    request: deps.rules.strictParams ? { ...one, isStrict: true } : one,
    context: {
      caller: { keyId: caller },
      conversation:
        state.cacheKey ?? conversationKey(one, { caller, session: session ?? parsed.session ?? null }),
      budget: openBudget(),
      trace,
      ...(backgroundOf(parsed) === null ? {} : { isBackground: true }),
      ...(isUnstored(parsed) ? { isUnstored: true } : {}),
      ...(steering === null ? {} : { steering }),
      ...(traceContext === null ? {} : { traceContext }),
      ...(isSteered === undefined ? {} : { isSteered }),
      ...(reserve === null ? {} : { reserve }),
    },
  }));
};

/** `store: false` is an explicit choice of a Responses client; for Chat it is the default. */
const isUnstored = ({ keeps }: ParsedRequest): boolean => keeps?.kind === 'response' && !keeps.isStored;

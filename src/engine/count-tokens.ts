import {
  countableInput,
  countableItem,
  encryptedTokens,
  type Countable,
} from '../canonical/tokens/countable.ts';
import { isReasoning, type Item } from '../canonical/request/item.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { Usage } from '../canonical/events/usage.ts';
import type { Clock } from '../kit/ambient.ts';
import { firstAborted, within } from '../kit/async/wait.ts';
import { yieldToLoop } from '../kit/async/event-loop.ts';

/** Counts tokens as the models do. The implementation runs in a thread, so calls are expensive. Callers take turns. */
export interface Tokenizer {
  /** Starts the thread before the first call. */
  warmUp(): void;
  count(text: string, caller?: string): Promise<number>;
  /** The longest beginning of the text with at most this many tokens. */
  head(text: string, tokens: number, caller?: string): Promise<string>;
}

/** Counts tokens in the encoding of a model. */
export interface TokenCounter {
  /** The total of all texts, each counted separately. */
  countTexts(texts: readonly string[], by: TokenUse): Promise<number>;
}

/** The model, which decides the encoding, and the caller. */
export interface TokenUse {
  readonly model: string;
  readonly caller: string;
}

/** The tokenizer for one caller. */
export const tokenizerFor = (tokenizer: Tokenizer, caller: string): Tokenizer => ({
  warmUp: () => tokenizer.warmUp(),
  count: (text) => tokenizer.count(text, caller),
  head: (text, tokens) => tokenizer.head(text, tokens, caller),
});

/** Counts for one caller. */
export interface CallerCounter {
  readonly tokenizer: TokenCounter;
  readonly clock: Clock;
  readonly caller: string;
}

export interface CountContext extends CallerCounter {
  readonly signal: AbortSignal;
}

/** The most that is counted at once. Concurrent requests take turns after each piece. */
const PIECE_CHARS = 16 * 1024;
const MAX_TEXTS = 4_096;
/** After this time, some megabytes of prose, the rest is estimated. */
const MAX_MS = 5_000;
/** The same for a count that an answer begins with: the backend reads a long prompt no faster. */
const MAX_AHEAD_MS = 1_000;
/** How long the beginning of an answer waits for its count. */
const MAX_WAIT_MS = 10;
/** A rule of thumb. */
const CHARS_PER_TOKEN = 4;

type Input = Parameters<typeof countableInput>[0];

/** Counts the input tokens of a request. Rejects with the reason of the signal. */
export const countInput = (request: Input, counting: CountContext): Promise<number> =>
  countAll(countableInput(request), request.model, counting);

/**
 * Counts the input tokens of a request while its turn is prepared. The result is for the beginning of the answer, which
 * cannot wait: if the count is not ready by then, it ends, and the length of the input decides.
 */
export const countAhead = (request: Input, counting: CountContext): (() => Promise<number>) => {
  const ended = new AbortController();
  const signal = firstAborted(counting.signal, ended.signal);
  const counted = countAll(countableInput(request), request.model, { ...counting, signal }, MAX_AHEAD_MS);
  const orNull = counted.catch(() => null);
  return async () => {
    const tokens = await within(orNull, MAX_WAIT_MS);
    ended.abort();
    return tokens ?? estimateInput(request);
  };
};

const estimateInput = (request: Input): number => {
  let [tokens, chars] = [0, 0];
  for (const one of countableInput(request)) {
    tokens += one.tokens;
    for (const { length } of one.texts) chars += length;
  }
  return tokens + Math.ceil(chars / CHARS_PER_TOKEN);
};

/** Counts the usage of a turn for which the upstream reports none. */
export const countUsage = async (
  request: TurnRequest,
  items: readonly Item[],
  counting: CountContext,
): Promise<Usage> => {
  const count = (some: readonly Item[]): Promise<number> =>
    countAll(writtenParts(some), request.model, counting);
  const inputTokens = await countInput(request, counting);
  const reasoningTokens = await count(items.filter(isReasoning));
  const outputTokens = reasoningTokens + (await count(items.filter((item) => !isReasoning(item))));
  return {
    inputTokens,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    outputTokens,
    reasoningTokens,
    totalTokens: inputTokens + outputTokens,
    isCounted: true,
  };
};

/** The texts of the items, without the tokens between items, which an output limit does not count. */
function* writtenParts(items: readonly Item[]): Generator<Countable> {
  for (const item of items) {
    // A summary is not what the model wrote. Of hidden reasoning only the length of its encrypted form is known.
    if (isReasoning(item))
      yield item.content === undefined && item.encryptedContent !== undefined
        ? { texts: [], tokens: encryptedTokens(item.encryptedContent) }
        : { texts: item.content ?? [], tokens: 0 };
    else for (const { texts } of countableItem(item, '')) yield { texts, tokens: 0 };
  }
}

const countAll = async (
  all: Iterable<Countable>,
  model: string,
  { tokenizer, clock, caller, signal }: CountContext,
  maxMs = MAX_MS,
): Promise<number> => {
  const endsAt = clock.now() + maxMs;
  let tokens = 0;
  let counted = 0;
  let countedTokens = 0;
  let uncounted = 0;
  let waiting: string[] = [];
  let waitingChars = 0;
  const count = async (): Promise<void> => {
    signal.throwIfAborted();
    if (waiting.length > 0) countedTokens += await tokenizer.countTexts(waiting, { model, caller });
    counted += waitingChars;
    waiting = [];
    waitingChars = 0;
  };
  for (const one of all) {
    await yieldToLoop(signal);
    tokens += one.tokens;
    for (const text of one.texts) {
      for (let at = 0; at < text.length; at += PIECE_CHARS) {
        const part = text.slice(at, at + PIECE_CHARS);
        if (clock.now() > endsAt) {
          uncounted += part.length;
          continue;
        }
        if (waitingChars + part.length > PIECE_CHARS || waiting.length === MAX_TEXTS) await count();
        waiting.push(part);
        waitingChars += part.length;
      }
    }
  }
  await count();
  return tokens + countedTokens + Math.ceil(uncounted * (countedTokens / Math.max(counted, 1)));
};

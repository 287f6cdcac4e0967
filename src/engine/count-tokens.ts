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
import { yieldToLoop } from '../kit/async/event-loop.ts';
import type { TokenCounter } from './tokenizer.ts';

export interface Counting {
  readonly tokenizer: TokenCounter;
  readonly clock: Clock;
  readonly caller: string;
  readonly signal: AbortSignal;
}

/** The most that is counted at once. Concurrent requests take turns after each piece. */
const PIECE_CHARS = 16 * 1024;
const MAX_TEXTS = 4_096;
/** After this time, some megabytes of prose, the rest is estimated. */
const MAX_MS = 5_000;

/** Counts the input tokens of a request. Rejects with the reason of the signal. */
export const countInput = (
  request: Parameters<typeof countableInput>[0],
  counting: Counting,
): Promise<number> => countAll(countableInput(request), request.model, counting);

/** Counts the usage of a turn for which the upstream reports none. */
export const countUsage = async (
  request: TurnRequest,
  items: readonly Item[],
  counting: Counting,
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
  { tokenizer, clock, caller, signal }: Counting,
): Promise<number> => {
  const endsAt = clock.now() + MAX_MS;
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

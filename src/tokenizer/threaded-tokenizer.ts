import { createHash } from 'node:crypto';

import { gatewayError } from '../canonical/failure/failure.ts';
import type { TokenCounter, Tokenizer, TokenUse } from '../engine/count-tokens.ts';
import {
  besideModule,
  createThreadPool,
  type GiveUpReason,
  type ThreadTimes,
} from '../threads/thread-pool.ts';
import { forgetOldest } from '../kit/collections/recent.ts';

/** Counts tokens, takes a prefix of so many tokens, or decodes tokens. The model's name decides the encoding. */
export type TokenJob = { readonly model: string } & (
  | { readonly texts: readonly string[] }
  | { readonly text: string; readonly tokens: number }
  | { readonly written: readonly number[] }
);

/** Null: invalid tokens. */
type TokenResult = number | string | null;

export interface ThreadedTokenizerOptions {
  /** The result was estimated, because the tokenizer did not answer in time. */
  readonly onGuess: (reason: GiveUpReason) => void;
  /** Of one job, where they differ from the usual ones. */
  readonly times?: Partial<ThreadTimes>;
}

export interface ThreadedTokenizer extends Tokenizer, TokenCounter {
  /** Decodes tokens; null if they are not valid text. Rejects if the tokenizer does not answer. */
  textOf(tokens: readonly number[], by: TokenUse): Promise<string | null>;
  close(): Promise<void>;
}

/** Selects the encoding of current models. */
const CURRENT = '';

/** A rule of thumb: an estimate is better than a stalled answer. */
const CHARS_PER_TOKEN = 4;

/** Counts that are remembered, of up to 16 KB each: every request of a conversation repeats the one before it. */
const MAX_REMEMBERED = 4_096;

/** Names texts without keeping them. Callers share nothing, so that none can find out what another sent. */
const keyOf = (texts: readonly string[], { model, caller }: TokenUse): string => {
  const hash = createHash('sha256').update(JSON.stringify([model, caller]));
  for (const text of texts) hash.update(`${text.length}:`).update(text);
  return hash.digest('base64');
};

/**
 * Runs the tokenizer in a thread: loading its table takes a third of a second, which would block all requests, and texts
 * of a model may be slow to encode.
 */
export const createThreadedTokenizer = (options: ThreadedTokenizerOptions): ThreadedTokenizer => {
  const pool = createThreadPool<TokenJob, TokenResult>({
    file: besideModule(import.meta.url, 'tokenizer-thread'),
    threads: 1,
    timeoutMs: 5_000,
    // The first job waits until the table is loaded.
    waitMs: 10_000,
    maxWaiting: 1_000,
    ...options.times,
  });
  const ask = async (job: TokenJob, caller: string): Promise<TokenResult> => {
    const outcome = await pool.run(job, caller);
    if (outcome.kind === 'done') return outcome.result;
    options.onGuess(outcome.reason);
    return null;
  };
  const remembered = new Map<string, number>();
  const countTexts = async (texts: readonly string[], by: TokenUse): Promise<number> => {
    const key = keyOf(texts, by);
    const count = remembered.get(key) ?? (await ask({ model: by.model, texts }, by.caller));
    if (typeof count === 'number') {
      // Deleted first, so that it is the newest.
      remembered.delete(key);
      remembered.set(key, count);
      forgetOldest(remembered, MAX_REMEMBERED);
      return count;
    }
    return texts.reduce((all, text) => all + Math.ceil(text.length / CHARS_PER_TOKEN), 0);
  };
  return {
    warmUp: () => pool.warmUp(),
    count: (text, caller = '') => countTexts([text], { model: CURRENT, caller }),
    countTexts,
    async head(text, tokens, caller = '') {
      const head = await ask({ model: CURRENT, text, tokens }, caller);
      return typeof head === 'string' ? head : text.slice(0, tokens * CHARS_PER_TOKEN).toWellFormed();
    },
    async textOf(written, { model, caller }) {
      const outcome = await pool.run({ model, written }, caller);
      // An estimate is useless here.
      if (outcome.kind !== 'done') throw gatewayError('server_overloaded');
      return typeof outcome.result === 'string' ? outcome.result : null;
    },
    close: () => pool.close(),
  };
};

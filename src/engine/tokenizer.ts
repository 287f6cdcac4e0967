/**
 * Counts tokens as the models do. A port: the real one carries a large table and lives in a thread of
 * its own, so it is asked as seldom as possible.
 */
export interface Tokenizer {
  /** Questions are about to come. */
  warmUp(): void;
  /** Callers take turns. */
  count(text: string, caller?: string): Promise<number>;
  /** The longest beginning of the text that is at most this many tokens. */
  head(text: string, tokens: number, caller?: string): Promise<string>;
}

/** The tokenizer as one caller uses it. */
export const tokenizerFor = (tokenizer: Tokenizer, caller: string): Tokenizer => ({
  warmUp: () => tokenizer.warmUp(),
  count: (text) => tokenizer.count(text, caller),
  head: (text, tokens) => tokenizer.head(text, tokens, caller),
});

/**
 * Counts tokens as the models do. A port: the real one carries a large table and lives in a thread of
 * its own, so it is asked as seldom as possible.
 */
export interface Tokenizer {
  /** Questions are about to come. */
  warmUp(): void;
  count(text: string): Promise<number>;
  /** The longest beginning of the text that is at most this many tokens. */
  head(text: string, tokens: number): Promise<string>;
}

/** Counts what is not cut afterwards, in the encoding of its model. */
export interface TokenCounter {
  /** The tokens of all texts together, each counted by itself. */
  countTexts(texts: readonly string[], model: string): Promise<number>;
}

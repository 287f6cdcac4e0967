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

/** Counts what is not cut afterwards, in the encoding of its model. */
export interface TokenCounter {
  /** The tokens of all texts together, each counted by itself. */
  countTexts(texts: readonly string[], by: TokenUse): Promise<number>;
}

/** Whose tokens they are: the model decides about the encoding, and callers take turns. */
export interface TokenUse {
  readonly model: string;
  readonly caller: string;
}

/** The tokenizer as one caller uses it. */
export const tokenizerFor = (tokenizer: Tokenizer, caller: string): Tokenizer => ({
  warmUp: () => tokenizer.warmUp(),
  count: (text) => tokenizer.count(text, caller),
  head: (text, tokens) => tokenizer.head(text, tokens, caller),
});

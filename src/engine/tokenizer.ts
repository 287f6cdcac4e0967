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

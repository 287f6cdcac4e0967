/** Counts tokens as the models do. A port: the real one carries a large table and is loaded when first needed. */
export interface Tokenizer {
  count(text: string): number;
  /** The longest beginning of the text that is at most this many tokens. */
  head(text: string, tokens: number): string;
}

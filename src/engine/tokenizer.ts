/**
 * Counts tokens as the models do. A port: the real one carries a large table and lives in a thread of
 * its own, so it is asked as seldom as possible.
 */
export interface Tokenizer {
  /** Questions are about to come. */
  warmUp(): void;
  /** In the encoding of this model; left out: in that of current models. */
  count(text: string, model?: string): Promise<number>;
  /** The longest beginning of the text that is at most this many tokens. */
  head(text: string, tokens: number): Promise<string>;
}

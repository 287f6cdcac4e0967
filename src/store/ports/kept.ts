/** How much is kept for each API key. */
export interface KeptStore {
  /**
   * The bytes of everything that belongs to the key, as they are stored: responses, conversations, chat completions, and
   * the events of streams. Expired rows count until the sweep has deleted them.
   */
  bytes(owner: string): Promise<number>;
}

/**
 * The bytes under a peer: a two-way pipe of lines. One listener each is all that a peer needs, and
 * both are set before the first line can arrive.
 */
export interface Transport {
  /**
   * One message, without a line end; a long one in pieces, so that nobody has to put it together. After
   * the end it is dropped: `onClose` has told why.
   */
  send(line: string | readonly string[]): void;
  onMessage(listener: (line: string) => void): void;
  /** Called once, whichever side ended it. `null`: it was closed in order. */
  onClose(listener: (cause: Error | null) => void): void;
  close(): void;
}

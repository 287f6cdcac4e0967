/**
 * The connection below a peer: a two-way pipe of lines. It has one listener per event, set before the first
 * line can arrive.
 */
export interface LineTransport {
  /**
   * Sends one message, without a line end; a long one in pieces, so that it need not be joined. Dropped after
   * the end, which `onClose` has reported.
   */
  send(line: string | readonly string[]): void;
  onMessage(listener: (line: string) => void): void;
  /** Called once, whichever side ended it. `null`: it was closed normally. */
  onClose(listener: (cause: Error | null) => void): void;
  close(): void;
}

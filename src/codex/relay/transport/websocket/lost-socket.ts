/** Why an answer that had not begun was lost. */
export type LossReason = 'closed' | 'too-large' | 'age-limit' | 'duplicate-item' | 'out-of-turn';

/** The socket broke. If nothing of the answer was passed on, the request may be sent again. */
export class LostSocketError extends Error {
  readonly code = 'ECONNRESET';
  readonly reason: LossReason;
  /** Whether another socket would fail too, so that the request should be posted. */
  readonly needsPost: boolean;

  constructor(reason: LossReason, detail: string, needsPost: boolean) {
    super(`the WebSocket was lost: ${detail}`);
    this.reason = reason;
    this.needsPost = needsPost;
  }
}

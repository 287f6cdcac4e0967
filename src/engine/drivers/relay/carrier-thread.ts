import type { TurnEnd } from '../driven-turn.ts';

/** A thread of the app-server that carries turns of clients. It has no text of theirs in its settings. */
export interface CarrierThread {
  readonly threadId: string;
  /** The entry of the model catalogue that it was started with. */
  readonly slug: string;
  /** The only caller whose turns it carries; null: it has not carried any. */
  caller: string | null;
  turns: number;
  /** Size of the answers that it remembers. */
  answerBytes: number;
}

export const freshThread = (threadId: string, slug: string): CarrierThread => ({
  threadId,
  slug,
  caller: null,
  turns: 0,
  answerBytes: 0,
});

/** The app-server sends everything that a thread remembers with each turn, so it gets slower with each. */
const MAX_TURNS = 16;
const MAX_ANSWER_BYTES = 1024 * 1024;
/** The app-server compacts a thread whose reported usage is close to the context window, which is far beyond this. */
const MAX_TOKENS = 10_000_000;

/** Whether the thread may carry another turn after one that the app-server has completed. */
export const isReusable = ({ turns, answerBytes }: CarrierThread, { usage }: TurnEnd): boolean =>
  turns < MAX_TURNS &&
  answerBytes < MAX_ANSWER_BYTES &&
  usage !== null &&
  usage.inputTokens + usage.outputTokens < MAX_TOKENS &&
  usage.totalTokens < MAX_TOKENS;

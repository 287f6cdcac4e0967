import type { Json, JsonObject } from '../kit/json.ts';
import type { Phase } from './item.ts';
import type { Outcome } from './outcome.ts';
import type { Path } from './path.ts';
import type { Usage } from './usage.ts';

/**
 * One thing that happened in a turn: the only currency between the engine and the edge.
 *
 * Grammar, which every producer and every transform keeps:
 * - `turn-accepted` comes first, if the turn got that far;
 * - an item's events stand between its `*-started` and its `*-ended`; every started item is ended,
 *   also when the turn fails (then with `complete: false`);
 * - deltas joined are the text of `*-ended`;
 * - `turn-ended` comes exactly once and is the last event.
 * Items may overlap: a layout may keep one item open while another runs.
 */
export type TurnEvent =
  | TurnAccepted
  | MessageStarted
  | TextDelta
  | RefusalDelta
  | MessageEnded
  | ReasoningStarted
  | ReasoningSummaryStarted
  | ReasoningSummaryDelta
  | ReasoningTextDelta
  | ReasoningEnded
  | CallStarted
  | CallDelta
  | CallEnded
  | CarriedItemProduced
  | TurnEnded;

/** The backend has begun to answer: from here on there is an answer, however it ends. */
export interface TurnAccepted {
  readonly type: 'turn-accepted';
  /** What was asked for and had no effect. */
  readonly ignored: readonly Path[];
  /** The backend was told the limit of the output and keeps it itself. */
  readonly limitsOutput: boolean;
  /** What the backend said about the request in headers, for the caller's answer. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface MessageStarted {
  readonly type: 'message-started';
  readonly itemId: string;
  readonly phase: Phase | null;
}
export interface TextDelta {
  readonly type: 'text-delta';
  readonly itemId: string;
  readonly delta: string;
}
export interface RefusalDelta {
  readonly type: 'refusal-delta';
  readonly itemId: string;
  readonly delta: string;
}
export interface MessageEnded {
  readonly type: 'message-ended';
  readonly itemId: string;
  readonly text: string;
  /** Null: the model did not refuse. */
  readonly refusal: string | null;
  readonly phase: Phase | null;
  readonly annotations: readonly Json[];
  /** Of the text's tokens, when they were asked for. */
  readonly logprobs: readonly Json[];
  readonly complete: boolean;
}

export interface ReasoningStarted {
  readonly type: 'reasoning-started';
  readonly itemId: string;
}
export interface ReasoningSummaryStarted {
  readonly type: 'reasoning-summary-started';
  readonly itemId: string;
  readonly index: number;
}
export interface ReasoningSummaryDelta {
  readonly type: 'reasoning-summary-delta';
  readonly itemId: string;
  readonly index: number;
  readonly delta: string;
}
/** Raw reasoning, which only some providers show. */
export interface ReasoningTextDelta {
  readonly type: 'reasoning-text-delta';
  readonly itemId: string;
  readonly index: number;
  readonly delta: string;
}
export interface ReasoningEnded {
  readonly type: 'reasoning-ended';
  readonly itemId: string;
  readonly summary: readonly string[];
  readonly content: readonly string[];
  readonly encryptedContent: string | null;
  readonly complete: boolean;
}

export interface CallStarted {
  readonly type: 'call-started';
  readonly itemId: string;
  readonly callId: string;
  readonly name: string;
}
export interface CallDelta {
  readonly type: 'call-delta';
  readonly itemId: string;
  readonly delta: string;
}
export interface CallEnded {
  readonly type: 'call-ended';
  readonly itemId: string;
  readonly callId: string;
  readonly name: string;
  readonly arguments: string;
  readonly complete: boolean;
}

/** An output item that arrives whole and is handed on as it is (a web search, a compaction …). */
export interface CarriedItemProduced {
  readonly type: 'carried-item';
  readonly itemId: string;
  readonly wire: JsonObject & { readonly type: string };
}

export interface TurnEnded {
  readonly type: 'turn-ended';
  readonly outcome: Outcome;
  /** Null when the upstream gave no numbers. */
  readonly usage: Usage | null;
}

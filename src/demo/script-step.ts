import type { Phase } from '../canonical/request/item.ts';
import type { IncompleteReason } from '../canonical/events/turn-event.ts';
import type { Json, JsonObject } from '../kit/json/json.ts';
import type { ModelEvent } from './connection.ts';

/** One action of the scripted model. Steps run in order; each item is complete before the next begins. */
export type ScriptStep =
  | TextStep
  | ReasoningStep
  | CallStep
  | RefusalStep
  | ItemStep
  /** Any other event. It gets the next sequence number. */
  | { readonly event: ModelEvent }
  /** Raw bytes, not necessarily valid SSE. */
  | { readonly raw: string }
  /** For a time in milliseconds, or for what a test does next. */
  | { readonly wait: number | Promise<void> }
  /** Ends the answer with `response.failed`. */
  | { readonly fail: { readonly code: string; readonly message: string } }
  /** Ends the answer with `response.incomplete`. */
  | { readonly incomplete: IncompleteReason }
  /** Destroys the socket. */
  | { readonly cut: true }
  /** Sends nothing until the caller disconnects. */
  | { readonly hang: true };

/** How an item ends: `incomplete` closes it with that status, `open` omits its `done` events. */
export type ItemEnd = 'completed' | 'incomplete' | 'open';

/** How a text is split into deltas. Default: word by word. */
export interface Pace {
  /** Exactly these deltas. The `done` events still have the full `text`. */
  readonly deltas?: readonly string[];
  /** Characters per delta; code points stay whole. */
  readonly chunkSize?: number;
  /** Pause between two deltas. */
  readonly delayMs?: number;
}

export interface TextStep extends Pace {
  readonly text: string;
  readonly id?: string;
  readonly phase?: Phase;
  readonly annotations?: readonly JsonObject[];
  readonly end?: ItemEnd;
}

export interface ReasoningStep extends Pace {
  readonly reasoning: {
    readonly summary: readonly string[];
    readonly encrypted?: string;
    /** Raw reasoning text, which only some providers send. */
    readonly content?: readonly string[];
    readonly id?: string;
  };
  readonly end?: ItemEnd;
}

export interface CallStep extends Pace {
  readonly call: {
    readonly name: string;
    /** Default: function. For a custom tool, `arguments` is its input. */
    readonly tool?: 'function' | 'custom';
    /** A string is sent verbatim. */
    readonly arguments: Json;
    readonly callId?: string;
    readonly id?: string;
    readonly namespace?: string;
  };
  readonly end?: ItemEnd;
}

export interface RefusalStep extends Pace {
  readonly refusal: string;
  readonly id?: string;
}

/** An output item of any other type, with its own events. */
export interface ItemStep {
  readonly item: ModelEvent;
  /** The item in `output_item.added`. Default: `item`. */
  readonly initial?: ModelEvent;
  /** Events between `added` and `done`; `item_id` and `output_index` are filled in. */
  readonly events?: readonly ModelEvent[];
  readonly end?: Extract<ItemEnd, 'completed' | 'open'>;
}

/** Splits a text into deltas. */
export const deltasOf = (text: string, pace: Pace): readonly string[] => {
  if (pace.deltas !== undefined) return pace.deltas;
  const pattern =
    pace.chunkSize === undefined ? /\s*\S+\s*$|\s*\S+|\s+/gu : new RegExp(`.{1,${pace.chunkSize}}`, 'gsu');
  return text.match(pattern) ?? [];
};

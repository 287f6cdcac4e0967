import type { Phase } from '../canonical/request/item.ts';
import type { IncompleteReason } from '../canonical/events/outcome.ts';
import type { Json, JsonObject } from '../kit/json/json.ts';
import type { ModelEvent } from './connection.ts';

/** One thing the scripted model does. Steps run in order; each item is whole before the next begins. */
export type ScriptStep =
  | TextStep
  | ReasoningStep
  | CallStep
  | RefusalStep
  | ItemStep
  | EventStep
  | RawStep
  | WaitStep
  | FailStep
  | IncompleteStep
  | CutStep
  | HangStep;

/**
 * How an item stands when its step is over: `incomplete` closes it with that status, `open` leaves it
 * without its `done` events, as a cut does.
 */
export type ItemEnd = 'completed' | 'incomplete' | 'open';

/** How a text is cut into deltas. Default: word by word. */
export interface Pace {
  /** These deltas exactly. What the `done` events say is still `text`. */
  readonly deltas?: readonly string[];
  /** Deltas of so many characters; no character is torn apart. */
  readonly chunkSize?: number;
  /** Between two deltas. */
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
    /** Raw reasoning, which only some providers show. */
    readonly content?: readonly string[];
    readonly id?: string;
  };
  readonly end?: ItemEnd;
}

export interface CallStep extends Pace {
  readonly call: {
    readonly name: string;
    /** Default: a function. The input of a custom tool is its `arguments`. */
    readonly tool?: 'function' | 'custom';
    /** A string goes out byte for byte. */
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

/** Any other output item, with whatever events there are about it. */
export interface ItemStep {
  readonly item: ModelEvent;
  /** The item at its start. Default: it begins whole. */
  readonly begun?: ModelEvent;
  /** What is said of it in between. The events get their place. */
  readonly said?: readonly ModelEvent[];
  readonly end?: Extract<ItemEnd, 'completed' | 'open'>;
}

/** An event that no builder makes. It gets the next sequence number. */
interface EventStep {
  readonly event: ModelEvent;
}

/** Bytes that need not be SSE at all. */
interface RawStep {
  readonly raw: string;
}

interface WaitStep {
  readonly wait: number;
}

/** `response.failed`; the answer ends there. */
interface FailStep {
  readonly fail: { readonly code: string; readonly message: string };
}

/** `response.incomplete`; the answer ends there. */
interface IncompleteStep {
  readonly incomplete: IncompleteReason;
}

/** The socket is cut off. */
interface CutStep {
  readonly cut: true;
}

/** Silence until the caller goes. */
interface HangStep {
  readonly hang: true;
}

/** The deltas of a text at a pace. */
export const deltasOf = (text: string, pace: Pace): readonly string[] => {
  if (pace.deltas !== undefined) return pace.deltas;
  const pattern =
    pace.chunkSize === undefined ? /\s*\S+\s*$|\s*\S+|\s+/gu : new RegExp(`.{1,${pace.chunkSize}}`, 'gsu');
  return text.match(pattern) ?? [];
};

import type { JsonObject } from '../../kit/json/json.ts';
import type { Item } from './item.ts';
import type { ModelBudget } from '../context/model-budget.ts';
import type { Trace } from '../context/trace.ts';
import type { Tool, ToolChoice } from './tool.ts';

/** One caller's ask, whichever API it came by. Whether the answer is streamed is not part of it. */
export interface AskedTurn {
  /** The name that goes to the backend: aliases are resolved. */
  readonly model: string;
  readonly instructions: string | null;
  readonly items: readonly Item[];
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  /** False: at most one call per answer. Null: the caller did not say, so several are welcome. */
  readonly parallelToolCalls: boolean | null;
  /** At most so many calls of tools that the backend or this server runs, in the whole answer; null: any number. */
  readonly maxToolCalls: number | null;
  /** Whether the caller can be asked to agree to a call: its API has a place for that. */
  readonly canApprove: boolean;
  readonly reasoning: ReasoningSettings;
  readonly format: OutputFormat;
  readonly verbosity: Verbosity | null;
  readonly serviceTier: string | null;
  readonly maxOutputTokens: number | null;
  /** The answer ends before the first of these texts. */
  readonly stop: readonly string[];
  readonly sampling: Sampling;
  readonly logprobs: Logprobs;
  /** `auto`: a conversation that is too long loses its middle instead of failing. */
  readonly truncation: 'auto' | null;
  /** When the backend is to shorten the conversation by itself, in the words of the Responses API. */
  readonly contextManagement: readonly JsonObject[] | null;
  /** What the answer is to hold beside the usual, by the names of the Responses API. */
  readonly include: readonly string[];
  readonly cache: CacheSettings;
  /** Which access programs the backend is to apply, in the words of the Responses API. */
  readonly accessPrograms?: JsonObject;
  /** How the backend is to treat the images of the conversation, in the words of the Responses API. */
  readonly imageOptions?: JsonObject;
  /** The caller's own notes about the request. */
  readonly metadata: JsonObject | null;
  /** Notes of the caller's program for the backend, such as codex makes about each of its turns. */
  readonly clientMetadata: JsonObject | null;
  /** Who the caller asks for, in the caller's words. */
  readonly user: string | null;
  readonly safetyIdentifier: string | null;
  /** What the items say is to be reviewed, by the backend's own reviewer, in words of its own. */
  readonly isReview?: true;
}

/** What an API asks for that has fields for nothing but a model and items. */
export const PLAIN_ASK: Omit<AskedTurn, 'model' | 'items'> = {
  instructions: null,
  tools: [],
  toolChoice: { mode: 'auto' },
  parallelToolCalls: null,
  maxToolCalls: null,
  canApprove: false,
  reasoning: { effort: null, summary: null, context: null },
  format: { kind: 'text' },
  verbosity: null,
  serviceTier: null,
  maxOutputTokens: null,
  stop: [],
  sampling: { temperature: null, topP: null, presencePenalty: null, frequencyPenalty: null, seed: null },
  logprobs: { top: null, isNeeded: false },
  truncation: null,
  contextManagement: null,
  include: [],
  cache: { key: null, retention: null, options: null },
  metadata: null,
  clientMetadata: null,
  user: null,
  safetyIdentifier: null,
};

/** An ask, who asks, and which conversation it belongs to. */
export interface TurnRequest extends AskedTurn {
  /** The same for all requests of one caller: what one taught us does not hold for another. */
  readonly caller: string;
  /** No answer is wanted in which something that was asked for has no effect. */
  readonly isStrict: boolean;
  /**
   * The same for all requests of one conversation of one caller, and for no others: so its prompt
   * cache stays warm. A hash; it says nothing about what is in the conversation.
   */
  readonly conversation: string;
  /** How many model requests its answer may cost. All requests that are made of it share this object. */
  readonly budget: ModelBudget;
  /** The model has left a call out that it must make: it is told again, in words. */
  readonly insists: boolean;
  /** The trace that the caller's request belongs to; absent: it named none. */
  readonly traceContext?: TraceContext;
  /** Who writes down what is said for it; absent: nobody. */
  readonly trace?: Trace;
  /** Called when the model answers, and again should it answer anew: from then on it can be spoken to. */
  readonly onSteerable?: (steer: Steer) => void;
}

/** W3C Trace Context, as the caller sent it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/**
 * Says something to the model while it answers: it breaks off, hears that, and goes on. Rejects with a `GatewayError`,
 * also when the turn has ended.
 */
export type Steer = (texts: readonly string[]) => Promise<void>;

/** What a refusal of the backend's may hang on. Nothing that was learnt from one holds for another. */
export const circumstancesOf = ({ caller, model, reasoning }: TurnRequest): string =>
  JSON.stringify([caller, model, reasoning.effort]);

/** How the next token is chosen. Null stands for what the caller did not say. */
export interface Sampling {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly presencePenalty: number | null;
  readonly frequencyPenalty: number | null;
  readonly seed: number | null;
}

/** Log probabilities. That they are wanted at all is an entry of `include`. */
export interface Logprobs {
  /** How many other tokens are told for each place. */
  readonly top: number | null;
  /** The caller's API has no answer without them. */
  readonly isNeeded: boolean;
}

/** What a caller says about the prompt cache. */
export interface CacheSettings {
  readonly key: string | null;
  readonly retention: string | null;
  readonly options: JsonObject | null;
}

export interface ReasoningSettings {
  readonly effort: string | null;
  readonly summary: ReasoningSummary | null;
  /** Which reasoning of earlier turns the model is shown again. */
  readonly context: ReasoningContext | null;
  /** How the model is to reason, such as `pro`; absent: the caller did not say. */
  readonly mode?: string;
}
export type ReasoningSummary = 'auto' | 'concise' | 'detailed';
export type ReasoningContext = 'auto' | 'current_turn' | 'all_turns';

export type Verbosity = 'low' | 'medium' | 'high';

export type OutputFormat =
  | { readonly kind: 'text' }
  | { readonly kind: 'json-object' }
  | {
      readonly kind: 'json-schema';
      readonly name: string;
      readonly description: string | null;
      readonly schema: JsonObject;
      readonly strict: boolean | null;
    };

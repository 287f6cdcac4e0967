import type { JsonObject } from '../../kit/json/json.ts';
import type { Item } from './item.ts';
import type { Tool, ToolChoice } from './tool.ts';

/**
 * What one model answer is to be made from, whichever API it came by. Data only: it can be written as JSON and read
 * back by another process. Whether the answer is streamed is not part of it; what is not data is in `TurnContext`.
 */
export interface TurnRequest {
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
  /** An answer in which a parameter of the request has no effect is an error. */
  readonly isStrict?: true;
  /** The model left out a call that it must make: the request asks for it once more, in words. */
  readonly insists?: true;
}

/** The request of an API that has fields for a model and items only. */
export const PLAIN_REQUEST: Omit<TurnRequest, 'model' | 'items'> = {
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

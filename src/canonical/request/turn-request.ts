import type { JsonObject } from '../../kit/json/json.ts';
import type { Item } from './item.ts';
import type { Tool, ToolChoice } from './tool.ts';

/**
 * A request for one model answer, independent of the API. It is plain data that can be stored as JSON and read by
 * another process. `TurnContext` has everything else. Whether the answer is streamed is not part of it.
 */
/** The tools of a request, and the items that may contain calls of them. */
export interface ToolsInUse {
  readonly items: readonly Item[];
  readonly tools: readonly Tool[];
}

export interface TurnRequest extends ToolsInUse {
  /** The backend's model name, with aliases resolved. */
  readonly model: string;
  readonly instructions: string | null;
  readonly toolChoice: ToolChoice;
  /** False: at most one call per answer. Null: not specified, so several are allowed. */
  readonly parallelToolCalls: boolean | null;
  /** Limit on calls of tools that the backend or this server runs, for the whole answer; null: none. */
  readonly maxToolCalls: number | null;
  /** Whether the caller's API can ask for the approval of a call. */
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
  /** `auto`: drops the middle of a conversation that is too long instead of failing. */
  readonly truncation: 'auto' | null;
  /** When the backend compacts the conversation by itself, in Responses API form. */
  readonly contextManagement: readonly JsonObject[] | null;
  /** Additional output to include, by the names of the Responses API. */
  readonly include: readonly string[];
  readonly cache: CacheSettings;
  /** Access programs of the backend, in Responses API form. */
  readonly accessPrograms?: JsonObject;
  /** How the backend handles images, in Responses API form. */
  readonly imageOptions?: JsonObject;
  /** The caller's own metadata. */
  readonly metadata: JsonObject | null;
  /** Metadata of the client program for the backend, such as codex sends with each turn. */
  readonly clientMetadata: JsonObject | null;
  /** The caller's identifier of its end user. */
  readonly user: string | null;
  readonly safetyIdentifier: string | null;
  /** Runs codex's reviewer on the items. */
  readonly isReview?: true;
  /** Rejects the request if one of its parameters has no effect. */
  readonly isStrict?: true;
  /** The client sends the arguments of calls back as values, not as the model's text, so that text is remembered. */
  readonly parsesArguments?: true;
  /** Answers of the API always have a usage: it is counted if the backend reports none. */
  readonly needsUsage?: true;
  /** Repeats a forced tool choice as an instruction, because the model ignored it. */
  readonly insists?: true;
}

/** The defaults for an API that has only a model and items. */
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

/** Sampling parameters; null: not specified. */
export interface Sampling {
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly presencePenalty: number | null;
  readonly frequencyPenalty: number | null;
  readonly seed: number | null;
}

/** Settings of log probabilities, which an entry of `include` requests. */
export interface Logprobs {
  /** Number of alternative tokens per position. */
  readonly top: number | null;
  /** The caller's API cannot answer without them. */
  readonly isNeeded: boolean;
}

/** Prompt caching. */
export interface CacheSettings {
  readonly key: string | null;
  readonly retention: string | null;
  readonly options: JsonObject | null;
}

export interface ReasoningSettings {
  readonly effort: string | null;
  readonly summary: ReasoningSummary | null;
  /** Which reasoning of earlier turns the model sees again. */
  readonly context: ReasoningContext | null;
  /** The reasoning mode, such as `pro`. */
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

import type { Json, JsonObject } from '../kit/json.ts';
import type { Item } from './item.ts';

/** One caller's ask, whichever API it came by. Whether the answer is streamed is not part of it. */
export interface AskedTurn {
  /** The name that goes to the backend: aliases are resolved. */
  readonly model: string;
  readonly instructions: string | null;
  readonly items: readonly Item[];
  /** The caller's name for the place of each item, such as `input[2]`, to say what became of it. */
  readonly places: readonly string[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  /** False: at most one call per answer. Null: the caller did not say, so several are welcome. */
  readonly parallelToolCalls: boolean | null;
  readonly reasoning: ReasoningSettings;
  readonly format: OutputFormat;
  readonly verbosity: Verbosity | null;
  readonly serviceTier: string | null;
  readonly maxOutputTokens: number | null;
  /** The answer ends before the first of these texts. */
  readonly stop: readonly string[];
  /** What the app-server has no field for, and only the request to the backend can carry. */
  readonly wire: readonly WireParam[];
}

/** An ask, who asks, and which conversation it belongs to. */
export interface TurnRequest extends AskedTurn {
  /** The same for all requests of one caller: what one taught us does not hold for another. */
  readonly caller: string;
  /** Names of parameters that are tried even if they were refused before: who asks wants no answer without them. */
  readonly insists: readonly string[] | 'all';
  /**
   * The same for all requests of one conversation of one caller, and for no others: so its prompt
   * cache stays warm. A hash; it says nothing about what is in the conversation.
   */
  readonly conversation: string;
}

/** What a refusal of the backend's may hang on. Nothing that was learnt from one holds for another. */
export const circumstancesOf = ({ caller, model, reasoning }: TurnRequest): string =>
  JSON.stringify([caller, model, reasoning.effort]);

/** Whether this parameter must not be left out because of an earlier refusal. */
export const isInsistedOn = ({ insists }: TurnRequest, name: string): boolean =>
  insists === 'all' || insists.includes(name);

/**
 * A parameter of the backend's own request, which is a Responses request. Whether it takes effect
 * depends on what stands between the app-server and the backend, and on the backend.
 */
export interface WireParam {
  readonly field: WireField;
  readonly value: Json;
  /** The caller's name for it, to say that it had no effect. */
  readonly name: string;
  /** False: the caller does not see a difference, so nothing is said when it is not carried. */
  readonly matters: boolean;
}

export type WireField =
  | 'temperature'
  | 'top_p'
  | 'presence_penalty'
  | 'frequency_penalty'
  | 'seed'
  | 'top_logprobs'
  | 'truncation'
  | 'metadata'
  | 'user'
  | 'safety_identifier'
  | 'prompt_cache_key'
  | 'prompt_cache_retention'
  | 'prompt_cache_options'
  /** A further value of `include`. */
  | 'include'
  /** A choice that must be forced. */
  | 'tool_choice'
  | 'text.verbosity'
  | 'text.format'
  /** A detail of an input item that the app-server would change. */
  | 'input';

export interface FunctionTool {
  readonly name: string;
  readonly description: string | null;
  /** The JSON schema of the arguments, as the client sent it. Absent parameters are an empty schema. */
  readonly parameters: JsonObject | null;
  readonly strict: boolean | null;
}

export type ToolChoice =
  | { readonly mode: 'auto' }
  | { readonly mode: 'none' }
  | { readonly mode: 'required' }
  | { readonly mode: 'function'; readonly name: string }
  | {
      readonly mode: 'allowed';
      readonly required: boolean;
      readonly names: readonly string[];
    };

/** Whether the model must call something. */
export const isForced = (choice: ToolChoice): boolean =>
  choice.mode === 'required' || choice.mode === 'function' || (choice.mode === 'allowed' && choice.required);

export interface ReasoningSettings {
  readonly effort: string | null;
  /** The caller's name for the effort, to say that it had no effect. */
  readonly effortName: string;
  readonly summary: ReasoningSummary | null;
}
export type ReasoningSummary = 'auto' | 'concise' | 'detailed';

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

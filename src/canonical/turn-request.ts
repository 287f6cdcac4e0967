import type { JsonObject } from '../kit/json.ts';
import type { Item } from './item.ts';

/** One caller's ask, whichever API it came by. Whether the answer is streamed is not part of it. */
export interface TurnRequest {
  /** The name that goes to the backend: aliases are resolved. */
  readonly model: string;
  readonly instructions: string | null;
  readonly items: readonly Item[];
  readonly tools: readonly FunctionTool[];
  readonly toolChoice: ToolChoice;
  /** False: at most one call per answer. */
  readonly parallelToolCalls: boolean;
  readonly reasoning: ReasoningSettings;
  readonly format: OutputFormat;
  readonly verbosity: Verbosity | null;
  readonly serviceTier: string | null;
  readonly maxOutputTokens: number | null;
}

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

export interface ReasoningSettings {
  readonly effort: string | null;
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

/**
 * Identifies a part of a turn request independently of any API. The API that parsed the request translates paths
 * to its own parameter names, for error messages and headers.
 */
export type Path =
  | Setting
  /** An item of the conversation, by index. */
  | { readonly item: number }
  /** The `detail` of an image. */
  | { readonly imageDetail: PartLocation }
  /** A file or image part of an item. */
  | { readonly file: PartLocation }
  /** An entry of `include`. */
  | { readonly include: string }
  /** A tool, by index. */
  | { readonly tool: number }
  /** A field of a tool. */
  | { readonly toolField: ToolFieldLocation }
  /** A field of the output schema, such as its name. */
  | { readonly formatField: string }
  /** The namespace of a call. */
  | { readonly callNamespace: number };

export interface ToolFieldLocation {
  /** The index of the item that declares the tool; absent: it is in the request's tools. */
  readonly item?: number;
  readonly tool: number;
  readonly field: string;
}

export interface PartLocation {
  readonly item: number;
  readonly of: 'content' | 'output';
  readonly part: number;
}

/** A setting of a turn request. */
export type Setting =
  | 'model'
  | 'instructions'
  | 'items'
  | 'tools'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'maxToolCalls'
  | 'reasoning.effort'
  | 'reasoning.summary'
  | 'reasoning.context'
  | 'reasoning.mode'
  | 'format'
  | 'verbosity'
  | 'serviceTier'
  | 'maxOutputTokens'
  | 'stop'
  | 'sampling.temperature'
  | 'sampling.topP'
  | 'sampling.presencePenalty'
  | 'sampling.frequencyPenalty'
  | 'sampling.seed'
  | 'include'
  | 'logprobs.top'
  | 'truncation'
  | 'contextManagement'
  | 'cache.key'
  | 'cache.retention'
  | 'cache.options'
  | 'cache.breakpoints'
  | 'callFields'
  | 'accessPrograms'
  | 'imageOptions'
  | 'metadata'
  | 'clientMetadata'
  | 'user'
  | 'safetyIdentifier';

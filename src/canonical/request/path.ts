/**
 * A part of a turn request, named without the words of any API. Whoever says what becomes of a request
 * says it by paths; the API that read the request turns them into the names that the caller wrote.
 */
export type Path =
  | Setting
  /** One item of the conversation, by its place in the request. */
  | { readonly item: number }
  /** How closely an image is to be looked at. */
  | { readonly imageDetail: PartPlace }
  /** A file or an image among the parts of an item. */
  | { readonly file: PartPlace }
  /** One further thing that the answer is to hold. */
  | { readonly include: string }
  /** One of the tools. */
  | { readonly tool: number }
  /** A field of one of the tools. */
  | { readonly toolField: ToolFieldPlace }
  /** A field of the output schema, such as its name. */
  | { readonly formatField: string }
  /** The namespace of a call. */
  | { readonly callNamespace: number };

export interface ToolFieldPlace {
  /** The item that brings the tool along; absent: it stands among the tools of the request. */
  readonly item?: number;
  readonly tool: number;
  readonly field: string;
}

export interface PartPlace {
  readonly item: number;
  readonly of: 'content' | 'output';
  readonly part: number;
}

/** What a turn request may ask for, as a whole. */
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

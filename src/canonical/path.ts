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
  /** A file among the parts of an item. */
  | { readonly file: PartPlace }
  /** One further thing that the answer is to hold. */
  | { readonly include: string }
  /** One of the tools. */
  | { readonly tool: number }
  /** The name of one of the tools. */
  | { readonly toolName: number };

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
  | 'reasoning.effort'
  | 'reasoning.summary'
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
  | 'cache.key'
  | 'cache.retention'
  | 'cache.options'
  | 'metadata'
  | 'user'
  | 'safetyIdentifier';

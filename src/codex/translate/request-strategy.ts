/**
 * The two forms of a model request that the backend of a ChatGPT login takes. `lite` is codex's own
 * newest form: tools stand in the first input item, and some parameters do not exist. `full` is a plain
 * Responses request, and the only form that any other backend knows.
 */
export type RequestFormat = 'codex' | 'responses';

/** How a request is put before its backend: the first way, or the one after a refusal. */
export interface RequestStrategy {
  readonly requestFormat: RequestFormat;
  /** The model as the app-server knows it: a model with two request formats has a name for each. */
  readonly slug: string;
  /** Where the caller's instructions stand: in the request's own field, or as its first message. */
  readonly instructions: 'field' | 'message';
  /** Reasoning that the backend cannot read is left out the second time. */
  readonly reasoning: 'kept' | 'left-out';
  /** A backend that does not know custom tools is told of functions. */
  readonly customTools: 'native' | 'functions';
  /** Whether earlier calls say in which namespace their tool stands. */
  readonly namespaces: 'kept' | 'left-out';
}

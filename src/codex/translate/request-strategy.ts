/**
 * The two formats of a model request that the backend of a ChatGPT login accepts. `codex` is codex's own
 * newest format: tools are in the first input item, and some parameters do not exist. `responses` is an
 * ordinary Responses request, the only format of all other backends.
 */
export type RequestFormat = 'codex' | 'responses';

/** How a request is sent to its backend: first attempt, or the next one after a refusal. */
export interface RequestStrategy {
  readonly requestFormat: RequestFormat;
  /** The model's name for the app-server: a model with two request formats has a name for each. */
  readonly slug: string;
  /** Where the client's instructions are: in the request's own field, or as its first message. */
  readonly instructions: 'field' | 'message';
  /** Reasoning that the backend cannot decrypt is left out of the second attempt. */
  readonly reasoning: 'kept' | 'left-out';
  /** Custom tools are sent as functions to a backend without them. */
  readonly customTools: 'native' | 'functions';
  /** Whether earlier calls name the namespace of their tool. */
  readonly namespaces: 'kept' | 'left-out';
  /** Where tools are that load late and whose form the client did not choose: at their place, or in the tool list. */
  readonly lateTools: 'in-place' | 'in-list';
}

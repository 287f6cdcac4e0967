import type { Failure } from '../failure/failure.ts';

/** How a turn ended. */
export type Outcome =
  | { readonly kind: 'completed' }
  /** The model called tools that the client runs: the answer ends there. */
  | { readonly kind: 'tool-calls' }
  | { readonly kind: 'incomplete'; readonly reason: IncompleteReason }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** `max_model_requests`: the budget of model requests was spent. `max_tool_calls`: the model called more tools than it may. */
export type IncompleteReason =
  | 'max_output_tokens'
  | 'content_filter'
  | 'max_model_requests'
  | 'max_tool_calls';

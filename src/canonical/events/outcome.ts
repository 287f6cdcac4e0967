import type { Failure } from '../failure/failure.ts';

/** How a turn ended. */
export type Outcome =
  /** `stop`: the stop sequence of the client that ended the answer; absent: the model did. */
  | { readonly kind: 'completed'; readonly stop?: string }
  /** The model called tools of the client, which ends the answer. */
  | { readonly kind: 'tool-calls' }
  | { readonly kind: 'incomplete'; readonly reason: IncompleteReason }
  | { readonly kind: 'failed'; readonly failure: Failure };

/**
 * `max_model_requests`: the answer used up its model requests. `max_tool_calls`: the model called too many tools.
 * `steered`: another answer continues it with more input of the client.
 */
export type IncompleteReason =
  | 'max_output_tokens'
  | 'content_filter'
  | 'max_model_requests'
  | 'max_tool_calls'
  | 'steered';

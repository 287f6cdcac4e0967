import type { Failure } from './failure.ts';

/** How a turn ended. */
export type Outcome =
  | { readonly kind: 'completed' }
  /** The model called tools that the client runs: the answer ends there. */
  | { readonly kind: 'tool-calls' }
  | { readonly kind: 'incomplete'; readonly reason: IncompleteReason }
  | { readonly kind: 'failed'; readonly failure: Failure };

export type IncompleteReason = 'max_output_tokens' | 'content_filter';

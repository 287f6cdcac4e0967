import type { Outcome } from '../../../canonical/events/outcome.ts';
import { isMessage, wordsOf, type Produced } from '../../../canonical/request/item.ts';
import { assertNever } from '../../../kit/assert-never.ts';

export interface StopFields {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/**
 * Why an answer ended. Every limit is `max_tokens`, which says that the answer is cut; `pause_turn` would end the work of
 * Claude Code. A failed turn is an error, not an answer.
 */
export const stopFields = (outcome: Outcome, isRefused: boolean): StopFields => ({
  stop_reason: reasonOf(outcome, isRefused),
  stop_sequence: outcome.kind === 'completed' ? (outcome.stop ?? null) : null,
});

/** Whether an item has a refusal of the model. */
export const hasRefused = (item: Produced): boolean => isMessage(item) && wordsOf(item, 'refusal') !== '';

const reasonOf = (outcome: Outcome, isRefused: boolean): string => {
  switch (outcome.kind) {
    case 'completed':
      if (outcome.stop !== undefined) return 'stop_sequence';
      return isRefused ? 'refusal' : 'end_turn';
    case 'tool-calls':
      return 'tool_use';
    case 'incomplete':
      return outcome.reason === 'content_filter' ? 'refusal' : 'max_tokens';
    case 'failed':
      throw new Error('a failed turn is an error, not a message');
    default:
      return assertNever(outcome);
  }
};

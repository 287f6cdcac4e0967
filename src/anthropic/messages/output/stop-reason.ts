import type { Outcome } from '../../../canonical/events/outcome.ts';
import { assertNever } from '../../../kit/assert-never.ts';

export interface StopFields {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/** Why an answer ended. A failed turn is an error, not an answer. */
export const stopFields = (outcome: Outcome): StopFields => ({
  stop_reason: reasonOf(outcome),
  stop_sequence: null,
});

const reasonOf = (outcome: Outcome): string => {
  switch (outcome.kind) {
    case 'completed':
      return 'end_turn';
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

import { fail, type GatewayError } from '../../canonical/failure.ts';

/** What was seen in messages that is not in the items themselves. */
export interface MessageNotes {
  /** Places of fields that have no effect. */
  readonly ignored: string[];
}

/** OpenAI has a code of its own for this. */
export const emptyArray = (param: string): GatewayError =>
  fail('invalid_value', {
    param,
    code: 'empty_array',
    message: `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
  });

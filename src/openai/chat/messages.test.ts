import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../canonical/failure/failure.ts';
import { readMessages } from './messages.ts';

/** What is read, or the error. */
const outcome = (value: object): unknown => {
  try {
    const { items, places, unread } = readMessages([value]);
    return { items, places, unread };
  } catch (error) {
    if (error instanceof GatewayError) return error.failure;
    throw error;
  }
};

describe('readMessages', () => {
  it('reads a message of text like one with more fields', () => {
    const role = fc.constantFrom('user', 'assistant', 'system', 'developer', 'function', 'x', null);
    const content = fc.constantFrom('', 'a text', 'x'.repeat(10_485_761), null, 5, [
      { type: 'text', text: 'a part' },
    ]);
    fc.assert(
      fc.property(fc.record({ role, content }), (value) => {
        // With this field the schemas read it, and it means nothing. Only legacy outputs need a name.
        const more = value.role === 'function' ? {} : { name: null };
        expect(outcome(value)).toEqual(outcome({ ...value, ...more }));
      }),
    );
    expect(outcome({ role: 'user', content: 'Hi' })).toEqual({
      items: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }],
      places: ['messages[0]'],
      unread: [],
    });
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../../canonical/failure/failure.ts';
import { readInput } from './input-items.ts';
import { plainMessage } from './plain-message.ts';

/** What is read, or the error. */
const outcome = (value: object): unknown => {
  try {
    return readInput([value]);
  } catch (error) {
    if (error instanceof GatewayError) return error.failure;
    throw error;
  }
};

const text = fc.constantFrom('', 'a text', 5, null);
const list = fc.constantFrom([], [{ type: 'url_citation' }], null, 'x');
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const part = fc.oneof(
  fc.record(
    {
      type: fc.constantFrom('input_text', 'output_text', 'refusal', 'other', null),
      text,
      annotations: optional(list),
      logprobs: optional(list),
      prompt_cache_breakpoint: optional(fc.constant({ mode: 'explicit' })),
      more: optional(fc.constant(1)),
    },
    { requiredKeys: ['type', 'text'] },
  ),
  fc.constantFrom(null, 'x', []),
);
const plain = fc.record(
  {
    type: fc.constant('message'),
    role: fc.constantFrom('user', 'assistant'),
    content: fc.oneof(
      fc.constantFrom('', 'a text'),
      fc.array(fc.constant({ type: 'output_text', text: 'a text', annotations: [] }), { maxLength: 2 }),
    ),
    id: fc.constant('msg_1'),
    status: fc.constant('completed'),
  },
  { requiredKeys: ['role', 'content'] },
);
const odd = fc.record(
  {
    type: fc.constantFrom('message', 'reasoning', null),
    role: fc.constantFrom('user', 'assistant', 'system', 'developer', 'tool', null),
    content: fc.oneof(text, fc.array(part, { maxLength: 3 })),
    id: fc.constantFrom('', 'msg_1', 'x'.repeat(16_001), 5, null),
    status: fc.constantFrom('completed', null, 5),
    more: fc.constant(1),
  },
  { requiredKeys: ['role', 'content'] },
);

/** JSON has no undefined. */
const asJson = (value: object): object => JSON.parse(JSON.stringify(value)) as object;

describe('plainMessage', () => {
  it('reads what the schemas read, and leaves the rest to them', () => {
    fc.assert(
      fc.property(fc.oneof(plain, odd).map(asJson), (value) => {
        // With this field the schemas read it, and it means nothing.
        expect(outcome(value)).toEqual(outcome({ ...value, phase: null }));
      }),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(plain.map(asJson), (value) => {
        expect(plainMessage(value as never)).not.toBeNull();
      }),
    );
  });

  it('reads messages as clients send them', () => {
    expect(plainMessage({ role: 'user', content: 'Hi' })).toEqual({
      kind: 'message',
      role: 'user',
      parts: [{ kind: 'text', text: 'Hi' }],
    });
    const sentBack = {
      id: 'msg_1',
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }],
    };
    expect(plainMessage(sentBack)).toEqual({
      kind: 'message',
      id: 'msg_1',
      role: 'assistant',
      parts: [{ kind: 'text', text: 'Hello' }],
    });
  });
});

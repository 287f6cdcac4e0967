import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../../canonical/failure/failure.ts';
import { readInput, plainMessage, readToolOutput } from './input-items.ts';

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

const read = (value: unknown): unknown => {
  const unread: string[] = [];
  try {
    return [readToolOutput(value, 'input[1].output', unread), unread];
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return `${error.failure.code} ${error.failure.param ?? ''}`;
  }
};

const IMAGE = 'data:image/png;base64,AA==';
const PARTS = [
  { type: 'input_text', text: 'Seen:' },
  { type: 'input_image', image_url: IMAGE },
];
const READ = [
  { kind: 'text', text: 'Seen:' },
  { kind: 'image', url: IMAGE },
];

describe('the output of a tool', () => {
  it('is a text or parts', () => {
    expect([read('Sun.'), read(''), read(PARTS)]).toEqual([
      ['Sun.', []],
      ['', []],
      [READ, []],
    ]);
  });

  it('is rejected with the types that it may have', () => {
    for (const [value, got] of [
      [{ temperature: 5 }, 'an object'],
      [{}, 'an object'],
      [5, 'an integer'],
    ] as const) {
      expect(() => readToolOutput(value, 'input[1].output', [])).toThrow(
        `Invalid type for 'input[1].output': expected a string or an array, but got ${got} instead.`,
      );
    }
  });

  it('may be either in an object; unread fields are named', () => {
    expect(read({ content: 'Sun.', success: true })).toEqual(['Sun.', []]);
    expect(read({ content: PARTS })).toEqual([READ, []]);
    expect(read({ content: '', success: null, exit_code: 1 })).toEqual(['', ['input[1].output.exit_code']]);
  });

  it('has a note for the model if the tool failed', () => {
    const failed = 'Error: The tool call failed.';
    expect(read({ content: 'No such city.', success: false })).toEqual([`${failed}\nNo such city.`, []]);
    expect(read({ content: '', success: false })).toEqual([failed, []]);
    expect(read({ content: PARTS, success: false })).toEqual([
      [{ kind: 'text', text: failed }, ...(READ as readonly unknown[])],
      [],
    ]);
  });

  it('is rejected with its location if it has another form', () => {
    expect([undefined, null, 7, {}, { content: 7 }, { content: 'x', success: 'no' }].map(read)).toEqual([
      'missing_required_parameter input[1].output',
      'invalid_type input[1].output',
      'invalid_type input[1].output',
      'invalid_type input[1].output',
      'invalid_type input[1].output.content',
      'invalid_type input[1].output.success',
    ]);
    expect(read({ content: [{ type: 'input_video' }] })).toBe(
      'invalid_value input[1].output.content[0].type',
    );
  });
});

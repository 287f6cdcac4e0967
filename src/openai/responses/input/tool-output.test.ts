import { describe, expect, it } from 'vitest';

import { GatewayError } from '../../../canonical/failure/failure.ts';
import { readToolOutput } from './tool-output.ts';

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

import { expect, it } from 'vitest';

import { failureOf } from '../../../canonical/failure/failure.ts';
import { readSteer } from './steer.ts';

const refusalOf = (body: unknown): string => {
  try {
    readSteer(body);
  } catch (error) {
    const { status, code, param } = failureOf(error);
    return `${status} ${code} ${param}`;
  }
  return 'taken';
};

it('accepts a text or user messages', () => {
  expect(readSteer({ input: 'In French.' })).toEqual({ texts: ['In French.'], ignored: [] });
  const content = [
    { type: 'input_text', text: 'a' },
    { type: 'input_text', text: 'b' },
  ];
  const input = [
    { role: 'user', content },
    { type: 'message', role: 'user', content: 'c' },
  ];
  expect(readSteer({ input, model: 'm' })).toEqual({ texts: ['a', 'b', 'c'], ignored: ['model'] });
});

it.each([
  [[], '400 invalid_type null'],
  [{}, '400 missing_required_parameter input'],
  [{ input: ' ' }, '400 invalid_value input'],
  [{ input: [] }, '400 invalid_value input'],
  [
    { input: Array.from({ length: 2 }, () => ({ role: 'user', content: 'x'.repeat(524_289) })) },
    '400 invalid_value input',
  ],
  [{ input: [{ role: 'developer', content: 'x' }] }, '400 unsupported_value input[0]'],
  [
    {
      input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AA==' }] }],
    },
    '400 unsupported_value input[0]',
  ],
  [
    { input: [{ type: 'function_call_output', call_id: 'c', output: 'x' }] },
    '400 unsupported_value input[0]',
  ],
])('rejects %.200j', (body, refusal) => {
  expect(refusalOf(body)).toBe(refusal);
});

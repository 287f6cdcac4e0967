import { expect, it } from 'vitest';

import { plainOutput } from './plain-output.ts';

const time = { type: 'input_text', text: 'Wall time: 0.0047 seconds\nOutput:' };
const text = { type: 'input_text', text: '5' };
const image = { type: 'input_image', image_url: 'data:' };
const gave = (output: unknown) => ({ type: 'function_call_output', call_id: '1', output: output as never });

it.each([
  [[time, text], '5'],
  [[time, text, text], '5\n5'],
  [
    [time, text, image],
    [text, image],
  ],
  [[text], [text]],
  ['unsupported call', 'unsupported call'],
  ['Wall time: 0.0063 seconds\nOutput:\n{"sum":5}', '{"sum":5}'],
  ['Wall time: 0.1 seconds\nOutput:\nWall time: 1 seconds\nOutput:\n', 'Wall time: 1 seconds\nOutput:\n'],
])("%j becomes the tool's own output", (output, expected) => {
  expect(plainOutput(gave(output))).toEqual(gave(expected));
});

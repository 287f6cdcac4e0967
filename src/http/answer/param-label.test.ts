import { expect, it } from 'vitest';

import { paramLabel } from './param-label.ts';

it.each([
  ['temperature', 'temperature'],
  ['reasoning.summary', 'reasoning.summary'],
  ['input[3].content[0].detail', 'input'],
  ['tools[0].frobnicate', 'tools'],
  ['logit_bias', 'logit_bias'],
  ['frobnicate', 'other'],
  ['"odd\n', 'other'],
])('%s is counted as %s', (place, label) => {
  expect(paramLabel(place)).toBe(label);
});

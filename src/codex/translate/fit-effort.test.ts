import { expect, it } from 'vitest';

import { fitEffort } from './fit-effort.ts';

it.each([
  [null, ['low'], null],
  ['high', ['low', 'high'], 'high'],
  ['minimal', ['low', 'medium', 'high'], 'low'],
  ['xhigh', ['low', 'medium', 'high'], 'high'],
  ['medium', ['low', 'high'], 'high'],
  ['minimal', null, 'minimal'],
  ['minimal', [], 'minimal'],
  ['extreme', ['low'], 'extreme'],
  ['minimal', ['quick'], 'minimal'],
] as const)('%j of %j is %j', (asked, has, expected) => {
  expect(fitEffort(asked, has)).toBe(expected);
});

import { expect, it } from 'vitest';

import { quoted } from './quote.ts';

it.each([
  ['short', 'short'],
  ['a'.repeat(100), 'a'.repeat(100)],
  ['a'.repeat(101), `${'a'.repeat(100)}…`],
  [`${'a'.repeat(99)}😀`, `${'a'.repeat(99)}\uFFFD…`],
])('%s', (text, expected) => {
  expect(quoted(text)).toBe(expected);
});

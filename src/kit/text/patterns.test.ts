import { describe, expect, it } from 'vitest';

import { fitsWildcard } from './patterns.ts';

describe('fitsWildcard', () => {
  it.each([
    ['a', 'a', true],
    ['a', 'ab', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['llama-*', 'llama-3', true],
    ['llama-*', 'a-llama-3', false],
    ['*-mini', 'gpt-5-mini', true],
    ['*-mini', 'gpt-5-mini-2', false],
    ['a*b*c', 'a1b2c', true],
    ['a*b*c', 'acb', false],
    ['a*a', 'a', false],
    ['ab*bc', 'abc', false],
    ['a.c', 'abc', false],
  ])('%s and %s: %s', (pattern, text, expected) => {
    expect(fitsWildcard(pattern, text)).toBe(expected);
  });
});

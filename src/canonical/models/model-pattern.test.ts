import { expect, it } from 'vitest';

import { matchesPattern } from './model-pattern.ts';

const matches = (pattern: string, names: readonly string[]): readonly string[] =>
  names.filter((name) => matchesPattern(pattern, name));

it('matches names of models', () => {
  const names = ['gpt-5', 'gpt-5.2', 'gpt-5.2-mini', 'gpt-4o-mini', 'o3', ''];
  expect({
    exact: matches('gpt-5', names),
    prefix: matches('gpt-5*', names),
    suffix: matches('*-mini', names),
    middle: matches('gpt*-mini', names),
    several: matches('*5*2*', names),
    all: matches('*', names),
    empty: matches('', names),
    none: matches('GPT-5', names),
  }).toEqual({
    exact: ['gpt-5'],
    prefix: ['gpt-5', 'gpt-5.2', 'gpt-5.2-mini'],
    suffix: ['gpt-5.2-mini', 'gpt-4o-mini'],
    middle: ['gpt-5.2-mini', 'gpt-4o-mini'],
    several: ['gpt-5.2', 'gpt-5.2-mini'],
    all: names,
    empty: [''],
    none: [],
  });
});

it('does not use a character of the name twice', () => {
  expect(matches('aba*ba', ['aba', 'abaa', 'ababa', 'ababba'])).toEqual(['ababa', 'ababba']);
});

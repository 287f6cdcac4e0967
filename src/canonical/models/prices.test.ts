import { expect, it } from 'vitest';

import { costOf, priceOf, matchesPattern } from './prices.ts';

const price = (input: number) => ({ input, cachedInput: input / 10, output: input * 8 });

it('takes the price of the most specific pattern', () => {
  const prices = { '*': price(1), 'gpt-5*': price(2), 'gpt-5*mini*': price(3), 'gpt-5': price(4) };
  const models = ['gpt-5', 'gpt-5.2', 'gpt-5.2-mini', 'o3'];
  expect(models.map((model) => priceOf(prices, model)?.input)).toEqual([4, 2, 3, 1]);
  expect(priceOf({ 'gpt-5*': price(2) }, 'o3')).toBe(null);
});

it('computes the cost in millionths of the currency', () => {
  const used = { inputTokens: 1_000, cachedInputTokens: 600, outputTokens: 50 };
  expect(costOf({ input: 1.25, cachedInput: 0.125, output: 10 }, used)).toBe(500 + 75 + 500);
  expect(costOf({ input: 0.1, cachedInput: 0, output: 0 }, { ...used, inputTokens: 1 })).toBe(0);
  expect(costOf({ input: 0.1, cachedInput: 0.1, output: 0 }, { ...used, inputTokens: 1 })).toBe(1);
});

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

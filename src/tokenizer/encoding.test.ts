import * as fc from 'fast-check';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';

import { countTokens, encodingOf, textHead, textOf } from './encoding.ts';

const current = await encodingOf('gpt-5.5');

/** Half surrogate pairs, long words, runs of spaces, characters of several tokens. */
const anyText = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.string({ unit: fc.constantFrom('a', ' ', '\n', '😀', 'ß', '한', '\uD83D', '.', '👩‍🚀'), maxLength: 40 }),
  fc.lorem(),
);

describe('count', () => {
  it.each([
    ['', 0],
    ['Hello', 1],
    ['Hello world', 2],
    ['<|endoftext|>', 7],
    ['😀', 1],
  ])('%j is %i', (text, count) => {
    expect(countTokens(text, current)).toBe(count);
  });
});

describe('head', () => {
  it.each([
    ['Hello world', 0, ''],
    ['Hello world', 1, 'Hello'],
    ['Hello world', 2, 'Hello world'],
    ['Hello world', 99, 'Hello world'],
    ['', 3, ''],
  ])('of %j with %i', (text, tokens, expected) => {
    expect(textHead(text, tokens, current)).toBe(expected);
  });

  it('is a prefix of whole characters within the limit', () => {
    fc.assert(
      fc.property(anyText, fc.nat(20), (text, tokens) => {
        const head = textHead(text, tokens, current);
        expect(text.startsWith(head)).toBe(true);
        expect(countTokens(head, current)).toBeLessThanOrEqual(tokens);
        if (text.isWellFormed()) expect(head.isWellFormed()).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('is the whole text if that fits', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(textHead(text, countTokens(text, current), current)).toBe(text);
      }),
    );
  });
});

describe('a long word', () => {
  // In quadratic time, this would exceed the test's timeout.
  it.each(['a', ' ', '漢', '😀', '!', '\n'])('of %j is counted in pieces', (unit) => {
    const text = unit.repeat(500_000 / unit.length);
    expect(countTokens(text, current)).toBeGreaterThan(1_000);
    expect(textHead(text.slice(0, 20_000), 10, current).length).toBeGreaterThan(0);
  });
});

describe('the encoding of a model', () => {
  it.each([
    ['gpt-3.5-turbo-instruct', [15339, 1917]],
    ['davinci-002', [15339, 1917]],
    ['text-davinci-003', [31373, 995]],
    ['davinci', [31373, 995]],
    ['gpt-5.5', [24912, 2375]],
    ['gpt-oss-20b', [24912, 2375]],
    ['no-model-of-openai', [24912, 2375]],
    ['constructor', [24912, 2375]],
  ])('%s', async (model, tokens) => {
    const encoding = await encodingOf(model);
    expect([textOf(tokens, encoding), countTokens('hello world', encoding)]).toEqual(['hello world', 2]);
  });
});

describe('the text of tokens', () => {
  it('is the original text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        fc.pre(text.isWellFormed());
        expect(textOf(encode(text, { disallowedSpecial: new Set() }), current)).toBe(text);
      }),
    );
  });

  const [half = 0] = encode('𠮷');

  it.each([
    ['nothing', [], ''],
    ['no token', [3686, 199_998], null],
    ['a special token', [199_999], null],
    ['no number of a token', [-1], null],
    ['half a number', [0.5], null],
    ['half a character', [half], null],
    // 128 characters each.
    ['too much', Array.from({ length: 270_000 }, () => 72_056), null],
    // The half character before it left no state.
    ['a word', encode('漢字'), '漢字'],
  ])('%s', (_, tokens, text) => {
    expect(textOf(tokens, current)).toBe(text);
  });

  it('takes linear time', () => {
    const one = encode('𠮷');
    expect(textOf(Array.from({ length: 200_000 }, () => one).flat(), current)).toHaveLength(400_000);
  });
});

import { describe, expect, it } from 'vitest';

import { findWords } from '../../scripts/words.ts';

const found = (text: string): readonly string[] =>
  findWords('a.ts', text).map(({ line, words }) => `${line}: ${words}`);

describe('the check of phrases', () => {
  it('finds each phrase with its line, also across the lines of a comment', () => {
    expect(found('/**\n * Read by nobody: a model is\n * told of it.\n */')).toEqual([
      '2: nobody',
      '2: is * told',
      '3: told of',
    ]);
    expect(found('// A text that\n// is no JSON')).toEqual(['2: is no JSON']);
  });

  it.each([
    'There is no limit.',
    'It is no longer read.',
    'n is no larger than 3',
    '[x](0017-nobody-holds-the-loop.md)',
  ])('accepts plain English and file names: %s', (text) => {
    expect(found(text)).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';

import { refused } from '../../../test/support/refused.ts';
import { tokenPrompts, withTexts } from './token-prompts.ts';

const refusalOf = (act: () => unknown): string => {
  const { status, code, param } = refused(act);
  return `${status} ${code} ${param}`;
};

describe('token prompts', () => {
  it.each([
    ['one', [1, 2], [{ at: 'prompt', tokens: [1, 2] }]],
    [
      'several',
      [[1], [2, 3]],
      [
        { at: 'prompt[0]', tokens: [1] },
        { at: 'prompt[1]', tokens: [2, 3] },
      ],
    ],
    ['a text', 'hi', []],
    ['texts', ['hi'], []],
    ['several kinds', [[1], 'hi'], []],
    ['an empty list', [], []],
    ['no prompt', undefined, []],
  ])('%s', (_, prompt, expected) => {
    expect(tokenPrompts({ prompt })).toEqual(expected);
  });

  it.each([
    ['half a token', [1, 0.5], '400 invalid_type prompt[1]'],
    ['a text among the tokens', [1, 'a'], '400 invalid_type prompt[1]'],
    ['an empty prompt', [[1], []], '400 invalid_value prompt[1]'],
    ['too many', Array.from({ length: 1_000_001 }, () => 1), '400 invalid_value prompt'],
  ])('%s is rejected', (_, prompt, expected) => {
    expect(refusalOf(() => tokenPrompts({ prompt }))).toBe(expected);
  });

  it('are replaced by texts in the body', () => {
    const body = { model: 'm', prompt: [[1], [2]] };
    expect(withTexts(body, tokenPrompts(body), ['a', ''])).toEqual({ model: 'm', prompt: ['a', ''] });
    expect(refusalOf(() => withTexts(body, tokenPrompts(body), ['a', null]))).toBe(
      '400 invalid_value prompt[1]',
    );
  });
});

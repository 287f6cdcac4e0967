import { describe, expect, it } from 'vitest';

import { showDiff } from './target.ts';

const lines = (...names: readonly (string | number)[]): string => names.map((name) => `${name}\n`).join('');

describe('showDiff', () => {
  it('shows changed lines with two lines around them', () => {
    const before = lines(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    const after = lines(1, 2, 3, 4, 'five', 6, 7, 8, 9, 10, 11);
    expect(showDiff('f', before, after)).toBe(
      lines('f', '  …', '  3', '  4', '- 5', '+ five', '  6', '  7', '  …', '  9', '  10', '+ 11', ''),
    );
  });

  it('says that a file is new or deleted, and ignores the kind of line breaks', () => {
    expect(showDiff('f', null, 'a\r\nb')).toBe(lines('f (new)', '+ a', '+ b', ''));
    expect(showDiff('f', 'a\n', null)).toBe(lines('f (deleted)', '- a', ''));
  });
});

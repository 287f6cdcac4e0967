import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { cleanSummary, cleanTitle } from './clean-title.ts';

describe('titleOf', () => {
  it.each([
    ['Cats and dogs', 'Cats and dogs'],
    ['\n\n  "Cats and dogs"  \n', 'Cats and dogs'],
    ['“Cats and dogs”', 'Cats and dogs'],
    ['## **Cats** and `dogs`', 'Cats and dogs'],
    ['**Title:** "Cats and dogs"', 'Cats and dogs'],
    ['*Cats and dogs*\n\nBecause they are animals.', 'Cats and dogs'],
    ['```\nCats\n```', 'Cats'],
    ['- Cats', 'Cats'],
    ['<think>\nHm.\n</think>\n\nCats', 'Cats'],
    ['Cats\tand\u00a0 dogs', 'Cats and dogs'],
    // Text that only resembles decoration stays.
    ['"Cats" and "dogs"', '"Cats" and "dogs"'],
    ['Fix __init__.py', 'Fix __init__.py'],
    ['2. Weltkrieg', '2. Weltkrieg'],
    ['#hashtag', '#hashtag'],
    ['a * b * c', 'a * b * c'],
    [
      'Understanding asynchronous iteration, and generators in JavaScript',
      'Understanding asynchronous iteration, and',
    ],
    [`${'a'.repeat(49)}, b`, 'a'.repeat(49)],
    ['x'.repeat(80), 'x'.repeat(50)],
    [`${'x'.repeat(49)}👩‍👩‍👧 and more`, 'x'.repeat(49)],
    ['漢'.repeat(80), '漢'.repeat(50)],
  ])('%j', (text, title) => {
    expect(cleanTitle(text)).toBe(title);
  });

  it.each(['', ' \n ', '```\n```', '<think>and so on'])('returns null for %j', (text) => {
    expect(cleanTitle(text)).toBeNull();
  });

  it('always returns one line of at most 50 characters', () => {
    const written = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 200 }),
      fc.string({ unit: fc.constantFrom('"', '*', '`', '#', ' ', '\n', 'a', '_', '>'), maxLength: 200 }),
    );
    fc.assert(
      fc.property(written, (text) => {
        const title = cleanTitle(text) ?? 'x';
        expect(title).toMatch(/^\S.{0,49}$/su);
        expect([title.length <= 50, title.trim() === title, /[\r\n]/.test(title)]).toEqual([
          true,
          true,
          false,
        ]);
      }),
    );
  });
});

describe('summaryOf', () => {
  const whole = { title: 'Cats', summary: 'They {purr}.\nOften.' };

  it.each([
    JSON.stringify(whole),
    `\`\`\`json\n${JSON.stringify(whole, null, 2)}\n\`\`\``,
    `Here you are: ${JSON.stringify({ ...whole, title: '"Cats"', mood: 'good' })} Anything else?`,
    `<think>{}</think>${JSON.stringify(whole)}`,
  ])('finds the JSON in %j', (text) => {
    expect(JSON.parse(cleanSummary(text) ?? '')).toEqual(whole);
  });

  it('limits the length of its title', () => {
    const long = JSON.stringify({ title: 'word '.repeat(30), summary: 'x' });
    expect(JSON.parse(cleanSummary(long) ?? '')).toEqual({ title: 'word '.repeat(10).trim(), summary: 'x' });
  });

  it.each([
    '',
    'Cats',
    '{"title": "Cats"}',
    '{"title": "", "summary": "x"}',
    '{"title": 1, "summary": "x"}',
    '[1]',
    '}{',
  ])('returns null for %j', (text) => {
    expect(cleanSummary(text)).toBeNull();
  });
});

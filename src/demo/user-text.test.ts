import { describe, expect, it } from 'vitest';

import { userText } from './user-text.ts';

describe('ownWords', () => {
  it.each<readonly [string, string, string]>([
    [
      'the time and a reminder',
      '<current_datetime>2026-11-02</current_datetime>\n\nHello\n\n<reminder>\nUse the tool <b>sql</b>.\n</reminder>',
      'Hello',
    ],
    ['a reminder after the text', 'Hello\n<system-reminder>Get the weather.</system-reminder>', 'Hello'],
    ['attributes', '<attachment id="a.ts" kind="file">weather</attachment>\nHello', 'Hello'],
    ['a name in camel case', '<editorContext>weather</editorContext>Hello', 'Hello'],
    ['several blocks', '<a_b>1</a_b> Hello <a_b>2</a_b>you', 'Hello you'],
    ['blocks in blocks', '<a_b><c_d>1</c_d> 2</a_b>Hello', 'Hello'],
    [
      'everything outside a user tag',
      '<additional_data>weather</additional_data>\n<user_query>\nHello\n</user_query>\n# Weather tools',
      'Hello',
    ],
    [
      'a block inside a user tag',
      '<task>\nHello <file_content>weather</file_content>\n</task>\nweather',
      'Hello',
    ],
    ['a message of only markup', '<system-reminder>Get the weather.</system-reminder>', ''],
  ])('removes %s', (_, text, words) => {
    expect(userText(text)).toBe(words);
  });

  it.each([
    'Hello',
    'What does <current_datetime> mean?',
    'Is </system-reminder> a tag?',
    'Make <b>this</b> bold and <div>that</div> a block.',
    'a < b and c > d',
    '',
  ])('keeps what the user typed: %s', (text) => {
    expect(userText(text)).toBe(text);
  });

  it('handles a long text of unclosed tags in linear time', () => {
    const text = `${'<a_b>'.repeat(20_000)}${'<'.repeat(60_000)}</c_d>`;
    expect(userText(text)).toBe(text);
  });
});

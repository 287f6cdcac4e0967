import { describe, expect, it } from 'vitest';

import { shrinkRequest, withoutSchemas, userText } from './shrink-request.ts';

const TOOL = { type: 'function', name: 'f', parameters: { type: 'object' } };
const TOOLS = { type: 'additional_tools', tools: [TOOL] };
const said = (text: string) => ({ role: 'user', content: [{ type: 'input_text', text }] });

describe('shrinkRequest', () => {
  it('keeps every field that the demo model reads in a small request', () => {
    const body = { tools: [TOOL], text: { format: { type: 'json_object' } }, input: [TOOLS, said('hi')] };
    expect(shrinkRequest({ ...body, model: 'demo', instructions: 'Be kind.', tool_choice: 'auto' })).toEqual({
      ...body,
      tool_choice: 'auto',
    });
  });

  it('limits the size of a large request', () => {
    const items = [TOOLS, ...Array.from({ length: 1_000 }, (_, index) => said(String(index)))];
    const huge = { ...TOOL, description: 'x'.repeat(300_000) };
    const small = shrinkRequest({ tools: [huge], input: [...items, said('x'.repeat(5_000))] });
    expect(small).toEqual({ input: [TOOLS, ...items.slice(-199), said('x'.repeat(4_096))] });
  });

  it('removes client markup from the newest user message, and messages that are only markup', () => {
    const reminder = '<system-reminder>\nThe weather tool exists.\n</system-reminder>';
    const items = [
      said('Hello'),
      { type: 'function_call_output', call_id: 'c', output: `${reminder} 7` },
      said(reminder),
      { role: 'user', content: reminder },
    ];
    expect(shrinkRequest({ input: items })).toEqual({ input: items.slice(0, 2) });
    expect(shrinkRequest({ input: [said(`${reminder}\nHello`)] })).toEqual({ input: [said('Hello')] });
    expect(shrinkRequest({ input: `${reminder}\nHello` })).toEqual({ input: 'Hello' });
    // Markup longer than the limit for a text.
    const long = `<a_b>${'x'.repeat(10_000)}</a_b>`;
    expect(shrinkRequest({ input: [said(`${long}Hello`)] })).toEqual({ input: [said('Hello')] });
    const image = { type: 'input_image', image_url: 'x' };
    expect(
      shrinkRequest({ input: [{ role: 'user', content: [{ type: 'input_text', text: reminder }, image] }] }),
    ).toEqual({
      input: [{ role: 'user', content: [image] }],
    });
  });

  it('removes schemas', () => {
    expect(withoutSchemas(shrinkRequest({ tools: [TOOL], text: {}, input: [TOOLS, said('hi')] }))).toEqual({
      input: [said('hi')],
    });
  });
});

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

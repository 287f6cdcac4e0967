import { describe, expect, it } from 'vitest';

import { fromOutputText, toOutputText } from './mcp-output.ts';

const text = (words: string) => ({ type: 'text', text: words });
const IMAGE = { type: 'image', data: 'aGk=', mimeType: 'image/png' };

describe('the output of a tool', () => {
  it.each([
    [{ content: [text('5')] }, '5'],
    [{ content: [text('a'), text('b')], structuredContent: { c: 1 } }, '{"c":1}'],
    [{ content: [text('a'), text('b')], structuredContent: null }, 'a\nb'],
    [{ content: [] }, ''],
    [{ content: [text('a'), IMAGE] }, JSON.stringify([text('a'), IMAGE])],
  ])('of %j is one text', (result, expected) => expect(toOutputText(result)).toBe(expected));

  it('shows the model images when it is sent back', () => {
    expect(fromOutputText(toOutputText({ content: [text('a'), IMAGE, { type: 'audio' }] }))).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'image', url: 'data:image/png;base64,aGk=' },
      { kind: 'text', text: '{"type":"audio"}' },
    ]);
  });

  it.each([
    '5',
    '[{"type":"image"',
    '[{"a":1},{"type":"image","data":5}]',
    '[{"type":"image","data":"x","mimeType":"text/html"}]',
  ])('stays unchanged: %s', (output) => expect(fromOutputText(output)).toBe(output));
});

import { describe, expect, it } from 'vitest';

import { blocksOf, inlinesOf } from './markdown.ts';

describe('the text of a model', () => {
  it('has paragraphs, headings, lists and code', () => {
    const text =
      'One\ntwo\n\n## Title\n- a\n  more\n  - b\n\n1. x\n2) y\n```ts\nconst a = 1;\n\n- b\n```\nend';
    expect(blocksOf(text)).toEqual([
      { kind: 'text', text: 'One\ntwo' },
      { kind: 'heading', text: 'Title' },
      {
        kind: 'list',
        isOrdered: false,
        start: 1,
        items: [
          { text: 'a\nmore', depth: 0 },
          { text: 'b', depth: 1 },
        ],
      },
      {
        kind: 'list',
        isOrdered: true,
        start: 1,
        items: [
          { text: 'x', depth: 0 },
          { text: 'y', depth: 0 },
        ],
      },
      { kind: 'code', text: 'const a = 1;\n\n- b', language: 'ts' },
      { kind: 'text', text: 'end' },
    ]);
  });

  it('may still be written', () => {
    expect(blocksOf('See:\n```')).toEqual([
      { kind: 'text', text: 'See:' },
      { kind: 'code', text: '', language: '' },
    ]);
    expect(inlinesOf('a **b')).toEqual([{ id: 0, kind: 'text', text: 'a **b' }]);
  });

  it('has code, bold words and links to the web, and no others', () => {
    expect(
      inlinesOf('`a*` **b** [c](https://example.com/d) [e](javascript:f) <b>').map(
        ({ id: _id, ...piece }) => piece,
      ),
    ).toEqual([
      { kind: 'code', text: 'a*' },
      { kind: 'text', text: ' ' },
      { kind: 'strong', text: 'b' },
      { kind: 'text', text: ' ' },
      { kind: 'link', text: 'c', href: 'https://example.com/d' },
      { kind: 'text', text: ' [e](javascript:f) <b>' },
    ]);
  });
});

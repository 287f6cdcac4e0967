import { describe, expect, it } from 'vitest';

import { ignoredHeader } from './turn-headers.ts';

const NAME = 'x-proxy-ignored-params';

describe('ignoredHeader', () => {
  it.each([
    ['nothing', [], {}],
    ['one', ['temperature'], { [NAME]: 'temperature' }],
    ['several, each once', ['a', 'b', 'a'], { [NAME]: 'a, b' }],
    ['places', ['input[0].content[1].detail', 'top-p'], { [NAME]: 'input[0].content[1].detail, top-p' }],
    [
      'what would break the header',
      ['a\r\nset-cookie: x', 'b,c', 'é'],
      { [NAME]: 'a%0D%0Aset-cookie%3A%20x, b%2Cc, %C3%A9' },
    ],
    ['long names', ['x'.repeat(500)], { [NAME]: 'x'.repeat(100) }],
  ])('%s', (_, ignored, headers) => {
    expect(ignoredHeader(ignored)).toEqual(headers);
  });

  it('lists forty names and counts the rest', () => {
    const names = Array.from({ length: 43 }, (_, index) => `p${index}`);
    expect(ignoredHeader(names)[NAME]).toBe(`${names.slice(0, 40).join(', ')}, and 3 more`);
  });

  it.each(['😀', '\uD83D', 'x'.repeat(99) + '😀'])(
    'is a header that can be sent, whatever the name (%#)',
    (name) => {
      const headers = new Headers(ignoredHeader([name]));
      expect(headers.get(NAME)).toMatch(/^[\x21-\x7e]+$/);
    },
  );
});

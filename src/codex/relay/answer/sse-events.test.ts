import { describe, expect, it } from 'vitest';

import { SseEvents } from './sse-events.ts';

type Seen = readonly [string | null, string | null];
const read = (...chunks: readonly string[]): Seen[] => {
  const seen: Seen[] = [];
  const events = new SseEvents({
    keepsData: (type) => type !== 'dull',
    onEvent: (type, data) => seen.push([type, data]),
  });
  for (const chunk of chunks) events.push(Buffer.from(chunk));
  events.end();
  return seen;
};

describe('server-sent events', () => {
  it.each<readonly [string, readonly string[], readonly Seen[]]>([
    ['one with a name', ['event: a\ndata: {"x":1}\n\n'], [['a', '{"x":1}']]],
    ['one whose data says its name', ['data: {"type":"a.b"}\n\n'], [['a.b', '{"type":"a.b"}']]],
    ['one without a name', ['data: [DONE]\n\n'], [[null, '[DONE]']]],
    ['the default name', ['event: message\ndata: {"type":"a"}\n\n'], [['a', '{"type":"a"}']]],
    ['a name behind the data', ['data: 1\nevent: a\n\n'], [['a', '1']]],
    ['unwanted data', ['event: dull\ndata: 1\ndata: 2\n\n'], [['dull', null]]],
    ['several lines of data', ['event: a\ndata: {\ndata:  "x": 1\ndata:}\n\n'], [['a', '{\n "x": 1\n}']]],
    ['comments, names alone and empty lines', [': hi\n\nevent: a\n\n\n\ndata:1\n\n'], [[null, '1']]],
    [
      'CRLF',
      ['event: a\r\ndata: 1\r\n\r\n', 'data: 2\r\n\r\n'],
      [
        ['a', '1'],
        [null, '2'],
      ],
    ],
    [
      'CRLF cut in two',
      ['event: a\r', '\ndata: 1\r', '\n\r', '\ndata: 2\r\n\r\n'],
      [
        ['a', '1'],
        [null, '2'],
      ],
    ],
    [
      'CR',
      ['event: a\rdata: é\r\r', 'data: 2\r\r'],
      [
        ['a', 'é'],
        [null, '2'],
      ],
    ],
    ['no end', ['event: a\ndata: 1'], [['a', '1']]],
    ['nothing', ['', '\n', ''], []],
  ])('%s', (_, chunks, expected) => {
    expect(read(...chunks)).toEqual(expected);
  });

  it('are dropped if their lines together are too long', () => {
    const line = `data: ${'x'.repeat(1024 * 1024)}\n`;
    expect(read('event: a\n', ...Array<string>(20).fill(line), '\n', 'event: b\ndata: 2\n\n')).toEqual([
      ['a', null],
      ['b', '2'],
    ]);
  });

  it('a line that never ends is oversized after 32 MB, and is not kept', () => {
    const seen: Seen[] = [];
    const events = new SseEvents({
      keepsData: () => true,
      onEvent: (type, data) => seen.push([type, data]),
    });
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    events.push(Buffer.from('event: a\ndata: '));
    for (let count = 0; count < 31; count += 1) events.push(chunk);
    expect(events.isOversized).toBe(false);
    events.push(chunk);
    expect([events.isOversized, seen]).toEqual([true, []]);
    events.end();
    expect(seen).toEqual([['a', null]]);
  });
});

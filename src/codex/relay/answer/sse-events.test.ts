import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { AnswerReader } from './answer-reader.ts';
import { MAX_EVENT_BYTES, SseEvents, type SseEvent } from './sse-events.ts';

type Chunk = string | Uint8Array;
type Seen = readonly [SseEvent['type'], SseEvent['data']];

/** The events of a stream, and the bytes passed on after each chunk and at the end. */
const read = (...chunks: readonly Chunk[]): { readonly events: Seen[]; readonly passed: Buffer[] } => {
  const stream = new SseEvents();
  const pushed = chunks.map((chunk) => stream.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk));
  const parts = [...pushed, [stream.end()]];
  return {
    events: parts.flat().flatMap(({ event }) => (event === null ? [] : [[event.type, event.data] as const])),
    passed: parts.map((some) => Buffer.concat(some.map(({ bytes }) => bytes))),
  };
};

const eventsOf = (...chunks: readonly Chunk[]): readonly Seen[] => read(...chunks).events;
const textsOf = (...chunks: readonly Chunk[]): readonly string[] => read(...chunks).passed.map(String);
const withLf = (bytes: readonly Uint8Array[]): string =>
  Buffer.concat(bytes).toString('latin1').replaceAll('\r\n', '\n');
const cutAt = (bytes: Buffer, cuts: readonly number[]): readonly Buffer[] => {
  const ends = [...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
};

describe('server-sent events', () => {
  it.each<readonly [string, readonly string[], readonly Seen[]]>([
    ['one with a name', ['event: a\ndata: {"x":1}\n\n'], [['a', '{"x":1}']]],
    ['one whose data says its name', ['data: {"type":"a.b"}\n\n'], [['a.b', '{"type":"a.b"}']]],
    ['one without a name', ['data: [DONE]\n\n'], [[null, '[DONE]']]],
    ['the default name', ['event: message\ndata: {"type":"a"}\n\n'], [['a', '{"type":"a"}']]],
    ['a name behind the data', ['data: 1\nevent: a\n\n'], [['a', '1']]],
    ['ids and times to retry', ['id: 7\nretry: 10\nevent: a\ndata: 1\n\n', 'id: 8\n\n'], [['a', '1']]],
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
    expect(eventsOf(...chunks)).toEqual(expected);
  });

  const line = fc.constantFrom(
    'event: a',
    'event: message',
    'data: {"type":"a.b"}',
    'data: é€😀',
    'data:1',
    'data: [DONE]',
    'data',
    ': comment',
    ':',
    'id: 7',
    'retry: 10',
    '',
    '',
    '',
    '\uFEFFdata: 2',
    'data: \uFEFF',
  );
  const stream = fc.record({
    marks: fc.integer({ min: 0, max: 2 }),
    lines: fc.array(fc.tuple(fc.oneof(line, fc.string()), fc.constantFrom('\n', '\r\n', '\r'))),
    last: line,
    cuts: fc.array(fc.nat(400), { maxLength: 40 }),
  });

  it('are the same, and so are the bytes, however a stream is split', () => {
    fc.assert(
      fc.property(stream, ({ marks, lines, last, cuts }) => {
        const text = lines.flat().join('') + last;
        const bytes = Buffer.from('\uFEFF'.repeat(marks) + text);
        const whole = read(bytes);
        // A byte order mark at the start of the text is one more of those.
        const expected = text.replace(/^\uFEFF+/, '').replaceAll(/\r\n?/g, '\n');
        expect(withLf(whole.passed)).toBe(Buffer.from(expected).toString('latin1'));
        for (const chunks of [cutAt(bytes, cuts), Array.from(bytes, (byte) => Uint8Array.of(byte))]) {
          const split = read(...chunks);
          expect(split.events).toEqual(whole.events);
          expect(withLf(split.passed)).toBe(withLf(whole.passed));
        }
      }),
    );
  });

  it('are passed on when they are complete', () => {
    expect(textsOf('data', ': 1\n\ndata: 2')).toEqual(['', 'data: 1\n\n', 'data: 2']);
    expect(textsOf('data', ': 1\r\n\r\ndata: 2')).toEqual(['', 'data: 1\r\n\r\n', 'data: 2']);
    expect(textsOf('data: 1\n\n: x\n\n', '\n', '')).toEqual(['data: 1\n\n: x\n\n', '\n', '', '']);
  });

  it('are not held back if they are too long', () => {
    const chunk = Buffer.alloc(MAX_EVENT_BYTES / 2, 'x');
    const { passed } = read(chunk, chunk, chunk, chunk, '\n\n');
    expect(passed.map(({ length }) => length)).toEqual([0, 0, 3 * chunk.length, chunk.length, 2, 0]);
  });

  it('are not read if their lines together are too long', () => {
    const megabyte = `data: ${'x'.repeat(1024 * 1024)}\n`;
    expect(
      eventsOf('event: a\n', ...Array<string>(20).fill(megabyte), '\n', 'event: b\ndata: 2\n\n'),
    ).toEqual([
      ['a', null],
      ['b', '2'],
    ]);
  });

  it('a line that never ends is oversized after 32 MB, and is not kept', () => {
    const events = new SseEvents();
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    expect(events.push(Buffer.from('event: a\ndata: '))).toEqual([]);
    const push = (): number => events.push(chunk).filter(({ event }) => event !== null).length;
    for (let count = 0; count < 31; count += 1) expect(push()).toBe(0);
    expect(events.isOversized).toBe(false);
    push();
    expect(events.isOversized).toBe(true);
    expect(events.end()).toEqual({ bytes: new Uint8Array(0), event: { type: 'a', data: null } });
  });
});

describe('line ends and byte order marks', () => {
  const TEXT = 'event: a\ndata: é\n\n: comment\ndata: 2\n\n';

  it('passes CRLF byte for byte, also in chunks of lines', () => {
    const text = TEXT.replaceAll('\n', '\r\n');
    for (const chunks of [[text], text.split(/(?<=\n)/)]) expect(textsOf(...chunks).join('')).toBe(text);
  });

  it('drops every byte order mark at the start, and nothing that only begins like one', () => {
    const bytes = Buffer.from(`\uFEFF\uFEFF\uFEFF${TEXT}`);
    for (const size of [1, 2, 4, 5, 1000]) {
      const cuts = Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => (index + 1) * size);
      expect(textsOf(...cutAt(bytes, cuts)).join('')).toBe(TEXT);
    }
    const [mark, word] = [Buffer.from([0xef, 0xbb]), Buffer.from([0x41])];
    expect(Buffer.concat(read(mark, word).passed)).toEqual(Buffer.concat([mark, word]));
  });

  it('gives the app-server the lines that the relay reads', () => {
    for (const end of ['\n', '\r\n', '\r']) {
      for (const start of ['', '\uFEFF']) {
        const bytes = Buffer.from(start + TEXT.replaceAll('\n', end));
        for (const chunks of [[bytes], Array.from(bytes, (byte) => Uint8Array.of(byte))]) {
          const reader = new AnswerReader({
            onUpstreamEvent() {},
            toFailure: () => expect.unreachable(),
            signal: new AbortController().signal,
            onActivity() {},
            mintCallId: () => 'call',
          });
          const passed = chunks.map((chunk) => reader.push(chunk) as Uint8Array);
          expect(withLf([...passed, reader.end('cut')])).toBe(Buffer.from(TEXT).toString('latin1'));
        }
      }
    }
  });
});

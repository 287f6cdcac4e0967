import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { atOnce } from '../../../kit/async/event-loop.ts';
import { EventPassthrough } from './event-passthrough.ts';
import { MAX_EVENT_BYTES } from './sse-events.ts';

/** Passes a text in chunks split at these positions. */
const pass = (text: string, cuts: readonly number[], replace: (event: string) => string | null): string[] => {
  let event = '';
  const bytes = new EventPassthrough(function* (piece) {
    yield;
    event += Buffer.from(piece).toString();
    // An event is complete with its empty line.
    if (!/\n\r?\n$/.test(event)) return null;
    const replacement = replace(event);
    event = '';
    return replacement === null ? null : Buffer.from(replacement);
  });
  const ends = [...new Set([...cuts, text.length])].toSorted((a, b) => a - b);
  const passed = ends.map((end, index) =>
    Buffer.from(atOnce(bytes.push(Buffer.from(text.slice(ends[index - 1] ?? 0, end))))).toString(),
  );
  return [...passed, Buffer.from(bytes.rest()).toString()];
};

it.each(['\n', '\r\n'])('replaces whole events, wherever chunks end: %j', (line) => {
  const events = ['event: a', 'data: 1', '', ': comment', '', 'data: old', 'data: older', '', 'data: open'];
  const text = events.map((one) => one + line).join('');
  const expected = text.replace(`data: old${line}data: older${line}${line}`, 'data: new\n\n');
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      const passed = pass(text, cuts, (event) => (event.includes('old') ? 'data: new\n\n' : null));
      expect(passed.join('')).toBe(expected);
    }),
  );
});

it('passes every byte of a stream without replacements, each event when it is complete', () => {
  const text = 'data: 1\n\ndata: 2\r\n\r\n\n: x\r\ndata: 3\n\r\ndata: é';
  fc.assert(
    fc.property(fc.array(fc.nat(text.length)), (cuts) => {
      expect(pass(text, cuts, () => null).join('')).toBe(text);
    }),
  );
  expect(pass('data: 1\n\ndata: 2', [4], () => null)).toEqual(['', 'data: 1\n\n', 'data: 2']);
  expect(pass('data: 1\r\n\r\ndata: 2', [4], () => null)).toEqual(['', 'data: 1\r\n\r\n', 'data: 2']);
});

it('does not hold back an event that is too long', () => {
  const bytes = new EventPassthrough(function* () {
    yield;
    return Buffer.from('never');
  });
  const chunk = Buffer.alloc(MAX_EVENT_BYTES / 2, 'x');
  const lengths = [chunk, chunk, chunk, chunk, Buffer.from('\n\n')].map(
    (one) => atOnce(bytes.push(one)).length,
  );
  expect(lengths).toEqual([0, 0, 3 * chunk.length, chunk.length, 2]);
});

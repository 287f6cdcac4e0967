import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { readSse } from '../../test/support/sse.ts';
import { trickyText } from '../../test/support/item-shapes.ts';
import { collect } from '../../test/support/turn-events.ts';
import { DONE, encodeFrame, KEEPALIVE } from './sse.ts';

describe('encodeFrame', () => {
  it.each([
    ['an event', { event: 'response.created', data: { a: 1 } }, 'event: response.created\ndata: {"a":1}\n\n'],
    ['without a name', { event: null, data: { a: 1 } }, 'data: {"a":1}\n\n'],
    ['the end of a stream', { event: 'done', data: DONE }, 'event: done\ndata: [DONE]\n\n'],
    ['the end of a stream without a name', { event: null, data: DONE }, 'data: [DONE]\n\n'],
    ['line ends inside', { event: null, data: 'a\r\n\r\nb' }, 'data: "a\\r\\n\\r\\nb"\n\n'],
  ])('%s', (_, frame, text) => {
    expect(encodeFrame(frame)).toBe(text);
  });

  it('encodes any text so that it is decoded unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(trickyText), async (texts) => {
        const stream = texts.map((text) => encodeFrame({ event: 'x', data: { text } })).join(KEEPALIVE);
        const read = await collect(readSse(stream));
        expect(read.map((frame) => JSON.parse(frame.data) as unknown)).toEqual(
          texts.map((text) => ({ text })),
        );
      }),
    );
  });
});

describe('KEEPALIVE', () => {
  it('is a comment, which readers skip', async () => {
    expect(await collect(readSse(KEEPALIVE + KEEPALIVE))).toEqual([]);
  });
});

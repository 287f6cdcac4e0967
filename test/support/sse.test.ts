import { describe, expect, it } from 'vitest';
import { collectSse, eventsOf, readSse } from './sse.ts';
import type { SseFrame, SseSource } from './sse.ts';

const read = async (source: SseSource): Promise<readonly SseFrame[]> => {
  const frames: SseFrame[] = [];
  for await (const frame of readSse(source)) frames.push(frame);
  return frames;
};

describe('readSse', () => {
  it.each([
    ['one frame', 'event: a\ndata: {"x":1}\n\n', [{ event: 'a', data: '{"x":1}' }]],
    ['no event name', 'data: x\n\n', [{ event: null, data: 'x' }]],
    ['several data lines', 'data: a\ndata: b\n\n', [{ event: null, data: 'a\nb' }]],
    ['a comment', ': keepalive\n\ndata: x\n\n', [{ event: null, data: 'x' }]],
    ['CRLF', 'event: a\r\ndata: x\r\n\r\n', [{ event: 'a', data: 'x' }]],
    [
      'CR alone',
      'data: x\r\rdata: y\r\r',
      [
        { event: null, data: 'x' },
        { event: null, data: 'y' },
      ],
    ],
    [
      'only one space is taken off',
      'data:  x\n\ndata:y\n\n',
      [
        { event: null, data: ' x' },
        { event: null, data: 'y' },
      ],
    ],
    ['empty data', 'data\n\n', [{ event: null, data: '' }]],
    ['no data', 'event: a\n\n', []],
    ['an unfinished frame', 'data: x\n\ndata: y\n', [{ event: null, data: 'x' }]],
  ])('%s', async (_name, text, frames) => {
    expect(await read(text)).toEqual(frames);
  });

  it('does not depend on how the bytes are split', async () => {
    const bytes = new TextEncoder().encode('event: ä\r\ndata: {"x":"€😀"}\r\n\r\ndata: [DONE]\n\n');
    const torn = (async function* () {
      for (const byte of bytes) yield Uint8Array.of(byte);
    })();
    expect(await read(torn)).toEqual([
      { event: 'ä', data: '{"x":"€😀"}' },
      { event: null, data: '[DONE]' },
    ]);
  });

  it('collects a fetch response, and its events', async () => {
    const frames = await collectSse(new Response('data: {"a":1}\n\ndata: [DONE]\n\n'));
    expect(frames).toEqual([
      { event: null, data: '{"a":1}' },
      { event: null, data: '[DONE]' },
    ]);
    expect(eventsOf(frames)).toEqual([{ a: 1 }]);
  });
});

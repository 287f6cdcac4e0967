import { expect, it } from 'vitest';

import { AnswerReader } from './answer-reader.ts';
import { LineFeeds } from './line-feeds.ts';

const TEXT = 'event: a\ndata: é\n\n: comment\ndata: 2\n\n';
const WAYS = ['\n', '\r\n', '\r'].flatMap((end) => {
  const text = TEXT.replaceAll('\n', end);
  return [text, `\uFEFF${text}`].flatMap((one) => {
    const bytes = Buffer.from(one);
    return [[bytes], Array.from(bytes, (byte) => Uint8Array.of(byte))];
  });
});

const withLf = (bytes: readonly Uint8Array[]): string =>
  Buffer.concat(bytes).toString().replaceAll('\r\n', '\n');

it('leaves no line that ends in CR alone and no byte order mark, wherever chunks end', () => {
  for (const chunks of WAYS) {
    const lines = new LineFeeds();
    expect(withLf(chunks.map((chunk) => lines.push(chunk)))).toBe(TEXT);
  }
  const lines = new LineFeeds();
  const [mark, word] = [Buffer.from([0xef, 0xbb]), Buffer.from([0x41])];
  expect(Buffer.concat([lines.push(mark), lines.push(word)])).toEqual(Buffer.concat([mark, word]));
});

it('drops every byte order mark at the start, so that both readers see the first event', () => {
  const text = `\uFEFF\uFEFF\uFEFF${TEXT}`;
  for (const size of [1, 2, 4, 5, 1000]) {
    const lines = new LineFeeds();
    const bytes = Buffer.from(text);
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    expect(Buffer.concat(chunks.map((chunk) => lines.push(chunk))).toString()).toBe(TEXT);
  }
});

it('passes CRLF byte for byte, also in chunks of lines', () => {
  const text = TEXT.replaceAll('\n', '\r\n');
  for (const chunks of [[text], text.split(/(?<=\n)/)]) {
    const lines = new LineFeeds();
    expect(Buffer.concat(chunks.map((chunk) => lines.push(Buffer.from(chunk)))).toString()).toBe(text);
  }
});

it('gives the app-server the lines that the relay reads', () => {
  for (const chunks of WAYS) {
    const reader = new AnswerReader({
      onUpstreamEvent() {},
      toFailure: () => expect.unreachable(),
      signal: new AbortController().signal,
      onActivity() {},
      mintCallId: () => 'call',
    });
    const passed = chunks.map((chunk) => reader.push(chunk) as Uint8Array);
    expect(withLf([...passed, reader.end('cut')])).toBe(TEXT);
  }
});

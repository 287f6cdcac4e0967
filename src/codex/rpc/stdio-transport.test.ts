import { PassThrough, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

import { describe, expect, it } from 'vitest';

import { createStdioTransport } from './stdio-transport.ts';

/** A stdin that keeps every write until the test reads it. */
const slowStdin = () => {
  const writes: string[] = [];
  let release: (() => void) | null = null;
  const stdin = new Writable({
    highWaterMark: 4,
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      writes.push(chunk);
      release = done;
    },
  });
  return { stdin, writes, read: () => release?.() };
};

const listen = (stdin: Writable) => {
  const stdout = new PassThrough();
  const transport = createStdioTransport({ stdin, stdout });
  const heard: unknown[] = [];
  transport.onMessage((line) => heard.push(line));
  transport.onClose((cause) => heard.push({ closed: cause?.message ?? null }));
  return { stdout, transport, heard };
};

describe('createStdioTransport', () => {
  it('reads lines, skips empty ones, accepts a last line without its end, and closes once', async () => {
    const { stdout, heard } = listen(new PassThrough());
    stdout.write('{"a":1}\n\n{"b"');
    stdout.write(':2}\r\n{"c":3}');
    stdout.end();
    await setImmediate();
    expect(heard).toEqual(['{"a":1}', '{"b":2}', '{"c":3}', { closed: null }]);
  });

  it('sends the messages of one tick in one write, in order, even if it is closed after them', async () => {
    const { stdin, writes } = slowStdin();
    const { transport } = listen(stdin);
    transport.send('first');
    queueMicrotask(() => transport.send('second'));
    await setImmediate();
    expect(writes).toEqual(['first\nsecond\n']);
    const other = slowStdin();
    const closing = listen(other.stdin).transport;
    closing.send('last');
    closing.close();
    expect(other.writes).toEqual(['last\n']);
  });

  it('waits for a full pipe, then sends the queue in one write, in order', async () => {
    const { stdin, writes, read } = slowStdin();
    const { transport } = listen(stdin);
    transport.send('first');
    await setImmediate();
    for (const line of ['second', 'third']) transport.send(line);
    await setImmediate();
    expect(writes).toEqual(['first\n']);
    read();
    await setImmediate();
    expect(writes).toEqual(['first\n', 'second\nthird\n']);
    read();
    await setImmediate();
    transport.send('fourth');
    await setImmediate();
    expect(writes).toEqual(['first\n', 'second\nthird\n', 'fourth\n']);
  });

  it('writes a long line in pieces without splitting characters, followed by others', async () => {
    const { stdin, writes, read } = slowStdin();
    const { transport } = listen(stdin);
    const long = 'x'.repeat(256 * 1024 - 1) + '😀'.repeat(256 * 1024);
    for (const line of ['first', long, 'last']) transport.send(line);
    for (let turn = 0; turn < 10; turn += 1) {
      read();
      await setImmediate();
    }
    expect(writes.join('')).toBe(`first\n${long}\nlast\n`);
    expect(writes.map((text) => [text.length <= 256 * 1024 + 1, text.isWellFormed()])).toEqual(
      Array.from({ length: 4 }, () => [true, true]),
    );
  });

  it('closes with the cause when the child stops reading', async () => {
    const stdin = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) });
    const { transport, heard } = listen(stdin);
    transport.send('x');
    await setImmediate();
    transport.send('y');
    expect(heard).toEqual([{ closed: 'EPIPE' }]);
  });

  it('ends stdin on close, and drops later messages', async () => {
    const stdin = new PassThrough();
    const { transport, stdout, heard } = listen(stdin);
    transport.close();
    stdout.write('late\n');
    await setImmediate();
    expect([stdin.writableEnded, heard]).toEqual([true, [{ closed: null }]]);
  });
});

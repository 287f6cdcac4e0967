import { Duplex } from 'node:stream';
import { constants, inflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { readClientFrame, serverFrame, type ClientFrame } from '../../../../../test/support/frames.ts';
import { BackendSocket } from './backend-socket.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A connection that notes what is written. Each frame is written after 10 ms. */
class FakeConnection extends Duplex {
  readonly frames: ClientFrame[] = [];

  override _read(): void {}
  override _write(chunk: Buffer, _: string, written: () => void): void {
    this.frames.push(readClientFrame(chunk));
    setTimeout(written, 10);
  }
}

const opened = (more: { readonly received?: Buffer; readonly isDeflated?: boolean } = {}) => {
  const connection = new FakeConnection();
  const heard: string[] = [];
  const upgraded = {
    connection,
    head: {},
    received: more.received ?? Buffer.alloc(0),
    deflate: more.isDeflated === false ? null : { keepsWindow: true, windowBits: 15 },
  };
  const socket = new BackendSocket(upgraded, 0, {
    onText: (data) => heard.push(data.toString('utf8')),
    onPing: () => heard.push('ping'),
    onClose: (code) => heard.push(`closed ${code}`),
  });
  return { connection, socket, heard };
};

const KB = 1024;
const [TEXT, BINARY, CLOSE, PING, PONG] = [1, 2, 8, 9, 10];
const settled = (ms = 0) => vi.advanceTimersByTimeAsync(ms);

it('sends a small message as one, uncompressed', async () => {
  const { connection, socket } = opened();
  const sending = socket.send({ parts: [Buffer.alloc(KB, 'a'), Buffer.alloc(KB, 'b')], bytes: 2 * KB });
  await settled(10);
  await sending;
  const payload = Buffer.from('a'.repeat(KB) + 'b'.repeat(KB));
  expect(connection.frames).toEqual([{ opcode: TEXT, isLast: true, isCompressed: false, payload }]);
});

it.each([20, 300])('sends a message of %d KB deflated, in fragments one after the other', async (kb) => {
  vi.useRealTimers();
  const { connection, socket } = opened();
  const text = Buffer.from(
    Array.from({ length: kb * KB }, (_, at) => (at % 251 === 0 ? '\n' : 'ab')[at % 2] ?? 'c').join(''),
  );
  await socket.send({ parts: [text.subarray(0, 10), text.subarray(10)], bytes: text.length });
  const { frames } = connection;
  const joined = Buffer.concat([...frames.map(({ payload }) => payload), Buffer.from([0, 0, 0xff, 0xff])]);
  expect(inflateRawSync(joined, { finishFlush: constants.Z_SYNC_FLUSH }).equals(text)).toBe(true);
  const fragments = kb === 20 ? 1 : 4;
  expect(frames.map(({ opcode, isLast, isCompressed }) => [opcode, isLast, isCompressed])).toEqual(
    Array.from({ length: fragments }, (_, at) => [at === 0 ? TEXT : 0, at === fragments - 1, at === 0]),
  );
});

it('sends a large message as it is if the server does not inflate', async () => {
  const { connection, socket } = opened({ isDeflated: false });
  const sending = socket.send({ parts: [Buffer.alloc(100 * KB), Buffer.alloc(200 * KB)], bytes: 300 * KB });
  await settled(5);
  expect(connection.frames).toHaveLength(1);
  await settled(100);
  await sending;
  expect(connection.frames.map(({ payload, isCompressed }) => [payload.length, isCompressed])).toEqual([
    [100 * KB, false],
    [128 * KB, false],
    [72 * KB, false],
  ]);
});

it('is dropped if a ping is not answered', async () => {
  const { connection, socket, heard } = opened();
  socket.ping();
  await settled(9_000);
  connection.push(serverFrame(PONG));
  await settled();
  socket.ping();
  await settled(9_999);
  expect(heard).toEqual([]);
  await settled(1);
  expect([heard, socket.isOpen, connection.frames.map(({ opcode }) => opcode)]).toEqual([
    ['closed 1006'],
    false,
    [PING, PING],
  ]);
});

it('passes on what arrives, answers pings, and closes if something is not text', async () => {
  const { connection, socket, heard } = opened({ received: serverFrame(TEXT, '{"early":1}') });
  connection.push(serverFrame(TEXT, '{}'));
  connection.push(serverFrame(PING, 'are you there?'));
  connection.push(serverFrame(BINARY, 'x'));
  await settled(100);
  expect([heard, socket.isOpen]).toEqual([['{"early":1}', '{}', 'ping'], false]);
  expect(connection.frames.map(({ opcode, payload }) => [opcode, payload.toString()])).toEqual([
    [PONG, 'are you there?'],
    [CLOSE, ''],
  ]);
});

it('reports the code of a close, and answers it', async () => {
  const { connection, socket, heard } = opened();
  connection.push(serverFrame(CLOSE, Buffer.from([0x03, 0xf3])));
  connection.push(null);
  await settled(100);
  expect([heard, socket.isOpen]).toEqual([['closed 1011'], false]);
  expect(connection.frames.map(({ opcode, payload }) => [opcode, payload.toString('hex')])).toEqual([
    [CLOSE, '03f3'],
  ]);
});

it('is cut a second after it was closed, if the server says nothing', async () => {
  const { socket, heard } = opened();
  socket.close();
  await settled(999);
  expect(heard).toEqual([]);
  await settled(1);
  expect(heard).toEqual(['closed 1006']);
});

it('says what is wrong with the frames of a server, and reads no more of them', async () => {
  const { connection, socket, heard } = opened();
  connection.push(Buffer.from([0x81, 0x80, 1, 2, 3, 4]));
  connection.push(serverFrame(TEXT, 'late'));
  await settled(2_000);
  expect([heard, socket.isOpen]).toEqual([['closed 1006'], false]);
  expect(connection.frames.map(({ opcode, payload }) => [opcode, payload.toString('hex')])).toEqual([
    [CLOSE, '03ea'],
  ]);
});

it('is cut if it is closed while it is paused', () => {
  const { connection, socket } = opened();
  socket.pause();
  socket.close();
  expect([connection.destroyed, connection.frames]).toEqual([true, []]);
});

it('is cut if the server sends pings and reads nothing', async () => {
  const { connection } = opened();
  const pings = Buffer.concat(Array.from({ length: 10_000 }, () => serverFrame(PING, 'x'.repeat(125))));
  connection.push(pings);
  await settled();
  expect(connection.destroyed).toBe(true);
});

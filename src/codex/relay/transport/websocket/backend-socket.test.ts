import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';

import { BackendSocket } from './backend-socket.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Sent {
  readonly bytes: number;
  readonly fin: boolean;
  readonly compress: boolean;
}

/** A WebSocket that notes what is done to it. Each fragment is written after 10 ms. */
class FakeWs extends EventEmitter {
  readonly sent: Sent[] = [];
  readonly done: string[] = [];
  isPaused = false;

  send(data: Uint8Array, { fin, compress }: Omit<Sent, 'bytes'>, written: () => void): void {
    this.sent.push({ bytes: data.length, fin, compress });
    setTimeout(written, 10);
  }
  ping(): void {
    this.done.push('ping');
  }
  close(): void {
    this.done.push('close');
  }
  terminate(): void {
    this.done.push('terminate');
    this.emit('close', 1006);
  }
}

const opened = () => {
  const ws = new FakeWs();
  const heard: string[] = [];
  const socket = new BackendSocket(ws as unknown as WebSocket, {}, 0, {
    onText: (data) => heard.push(data.toString('utf8')),
    onPing: () => heard.push('ping'),
    onClose: (code) => heard.push(`closed ${code}`),
  });
  return { ws, socket, heard };
};
const KB = 1024;

it('sends a small message as one, uncompressed', async () => {
  const { ws, socket } = opened();
  const sending = socket.send({ parts: [Buffer.alloc(KB), Buffer.alloc(KB)], bytes: 2 * KB });
  await vi.advanceTimersByTimeAsync(10);
  await sending;
  expect(ws.sent).toEqual([{ bytes: 2 * KB, fin: true, compress: false }]);
});

it('sends a large message in fragments, one after the other', async () => {
  const { ws, socket } = opened();
  const sending = socket.send({ parts: [Buffer.alloc(100 * KB), Buffer.alloc(200 * KB)], bytes: 300 * KB });
  await vi.advanceTimersByTimeAsync(5);
  expect(ws.sent).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(100);
  await sending;
  expect(ws.sent).toEqual([
    { bytes: 100 * KB, fin: false, compress: true },
    { bytes: 128 * KB, fin: false, compress: true },
    { bytes: 72 * KB, fin: true, compress: true },
  ]);
});

it('is dropped if a ping is not answered', async () => {
  const { ws, socket, heard } = opened();
  socket.ping();
  await vi.advanceTimersByTimeAsync(9_000);
  ws.emit('pong');
  socket.ping();
  await vi.advanceTimersByTimeAsync(9_999);
  expect(heard).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect([heard, socket.isOpen, ws.done]).toEqual([['closed 1006'], false, ['ping', 'ping', 'terminate']]);
});

it('passes on what arrives, and closes if that is not text', () => {
  const { ws, socket, heard } = opened();
  ws.emit('message', Buffer.from('{}'), false);
  ws.emit('ping');
  ws.emit('message', Buffer.from('x'), true);
  expect([heard, ws.done, socket.isOpen]).toEqual([['{}', 'ping'], ['close'], false]);
});

it('is cut if it is closed while it is paused', () => {
  const { ws, socket } = opened();
  ws.isPaused = true;
  socket.close();
  expect(ws.done).toEqual(['terminate']);
});

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

import { afterEach, describe, expect, it } from 'vitest';

import { endStalled } from './stalled.ts';

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

const STALL_MS = 100;

/** A client that has sent a request and does not read. */
const ask = async (answer: RequestListener, stallMs = STALL_MS): Promise<Socket> => {
  server = createServer(answer);
  server.keepAliveTimeout = 60_000;
  endStalled(server, stallMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => {});
  client.pause();
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  return client;
};

const later = (ms: number): Promise<string> =>
  new Promise((resolve) => {
    setTimeout(resolve, ms, 'open');
  });

describe('endStalled', () => {
  it('closes a connection whose client reads nothing', async () => {
    const gone = Promise.withResolvers<string>();
    await ask((_, outgoing) => {
      outgoing.on('close', () => gone.resolve('ended'));
      outgoing.write('x'.repeat(32 * 1024 * 1024));
    });
    expect(await gone.promise).toBe('ended');
  });

  it('keeps one whose client waits for an answer', async () => {
    const gone = Promise.withResolvers<string>();
    const answer = Promise.withResolvers<void>();
    const client = await ask((_, outgoing) => {
      outgoing.on('close', () => gone.resolve('ended'));
      outgoing.write('the beginning');
      void answer.promise.then(() => outgoing.end(', the end'));
    });
    expect(await Promise.race([gone.promise, later(5 * STALL_MS)])).toBe('open');
    const read = once(client, 'data');
    answer.resolve();
    expect(await gone.promise).toBe('ended');
    client.resume();
    expect(String(await read)).toContain(', the end');
  });

  it('keeps a slow one', async () => {
    const size = 24 * 1024 * 1024;
    // The kernel reports progress in steps of about a megabyte.
    const client = await ask((_, outgoing) => outgoing.end('x'.repeat(size)), 1_000);
    let bytes = 0;
    const whole = Promise.withResolvers<string>();
    client.on('close', () => whole.resolve('cut off'));
    client.on('data', (chunk) => {
      bytes += chunk.length;
      if (bytes >= size) whole.resolve('whole');
      client.pause();
      setTimeout(() => client.resume(), 5);
    });
    client.resume();
    expect(await whole.promise).toBe('whole');
  });
});

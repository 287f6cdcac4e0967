import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

import { describe, expect, it } from 'vitest';

import { readChunks, setIncoming } from './incoming-body.ts';

const post = (body?: string): Request =>
  new Request('http://localhost/', { method: 'POST', ...(body === undefined ? {} : { body }) });

/** A request from a socket, whose body the test sends. */
const fromSocket = () => {
  const incoming = new IncomingMessage(new Socket());
  const request = post();
  setIncoming(request, incoming);
  const seen: string[] = [];
  const reading = readChunks(request, (chunk) => {
    if (seen.push(Buffer.from(chunk).toString()) > 2) throw new Error('too much');
  });
  return { incoming, request, seen, reading };
};

describe('readChunks', () => {
  it('reads the stream of the socket, once', async () => {
    const { incoming, request, seen, reading } = fromSocket();
    incoming.push('one');
    incoming.push('two');
    incoming.push(null);
    await reading;
    await readChunks(request, () => seen.push('again'));
    expect(seen.join(' ')).toBe('one two');
  });

  it('stops at an error of the reader', async () => {
    const { incoming, seen, reading } = fromSocket();
    const failed = reading.catch((error: unknown) => error);
    for (const chunk of ['1', '2', '3', '4']) {
      incoming.push(chunk);
      await new Promise(setImmediate);
    }
    expect([await failed, seen, incoming.isPaused()]).toEqual([new Error('too much'), ['1', '2', '3'], true]);
  });

  it('fails if the client leaves', async () => {
    const { incoming, reading } = fromSocket();
    incoming.push('half');
    incoming.destroy();
    await expect(reading).rejects.toThrow('the client has disconnected');
  });

  it('reads a request without a socket', async () => {
    const seen: string[] = [];
    await readChunks(post('a body'), (chunk) => seen.push(Buffer.from(chunk).toString()));
    await readChunks(post(), () => seen.push('nothing'));
    expect(seen).toEqual(['a body']);
  });
});

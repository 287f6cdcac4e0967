import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';

import { afterEach, describe, expect, it } from 'vitest';

import { createNameResolver } from './resolve-name.ts';

interface NameServer {
  readonly address: string;
  readonly asked: string[];
  close(): Promise<void>;
}

/** A name server with one address for each of these names; it does not answer for names that are null. */
const startNameServer = async (known: Readonly<Record<string, string | null>>): Promise<NameServer> => {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (query, { port, address }) => {
    const { name, type, end } = question(query);
    asked.push(name);
    if (!Object.hasOwn(known, name)) return;
    const found = known[name] ?? null;
    const isFound = found !== null && type === 1;
    const head = Buffer.from(query.subarray(0, end));
    head.writeUInt16BE(found === null ? 0x81_83 : 0x81_80, 2);
    head.writeUInt16BE(isFound ? 1 : 0, 6);
    head.writeUInt32BE(0, 8);
    const record = isFound
      ? Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...found.split('.').map(Number)])
      : Buffer.alloc(0);
    socket.send(Buffer.concat([head, record]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
};

const question = (query: Buffer): { name: string; type: number; end: number } => {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
};

let server: NameServer | null = null;
afterEach(async () => {
  await server?.close();
  server = null;
});

const { signal } = new AbortController();

describe('createNameResolver', () => {
  it('resolves addresses, and reports unknown names', async () => {
    server = await startNameServer({ 'images.test': '203.0.113.7', 'missing.test': null });
    const resolve = createNameResolver({ isLocalAllowed: false, servers: [server.address] });
    expect(await resolve('images.test', signal)).toEqual(['203.0.113.7']);
    await expect(resolve('missing.test', signal)).rejects.toThrow('the name does not exist');
    expect(await resolve('a.localhost', signal)).toEqual(['127.0.0.1', '::1']);
  });

  it('resolves names of this machine only if allowed', async () => {
    // The system's resolver accepts this form of an address.
    server = await startNameServer({ '127.1': null });
    const servers = [server.address];
    await expect(createNameResolver({ isLocalAllowed: false, servers })('127.1', signal)).rejects.toThrow(
      'the name does not exist',
    );
    expect(await createNameResolver({ isLocalAllowed: true, servers })('127.1', signal)).toContain(
      '127.0.0.1',
    );
  });

  it('stops when aborted, and times out', async () => {
    server = await startNameServer({});
    const servers = [server.address];
    const gone = new AbortController();
    const waiting = createNameResolver({ isLocalAllowed: true, servers })('dead.test', gone.signal);
    await expect.poll(() => server?.asked).toContain('dead.test');
    gone.abort();
    await expect(waiting).rejects.toThrow('ECANCELLED');
    const impatient = createNameResolver({ isLocalAllowed: true, servers, timeoutMs: 20 });
    await expect(impatient('dead.test', signal)).rejects.toMatchObject({ code: 'ETIMEOUT' });
  });

  it('does not block the threads of the process with four hundred unanswered names', async () => {
    server = await startNameServer({});
    const resolve = createNameResolver({ isLocalAllowed: true, servers: [server.address] });
    const gone = new AbortController();
    let ended = 0;
    const dead = Array.from({ length: 400 }, (_, index) =>
      resolve(`dead${index}.test`, gone.signal)
        .catch(() => {})
        .then(() => (ended += 1)),
    );
    await expect.poll(() => new Set(server?.asked).size).toBe(64);
    for (let count = 0; count < 20; count += 1) await lookup('localhost');
    expect(ended).toBe(0);
    gone.abort();
    await Promise.all(dead);
  });
});

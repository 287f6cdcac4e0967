import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';

import { describe, expect, it, afterEach } from 'vitest';

import { isPublicAddress, createNameResolver } from './pinned-agent.ts';

describe('isPublicAddress', () => {
  it.each([
    ['8.8.8.8'],
    ['1.1.1.1'],
    ['172.15.255.255'],
    ['172.32.0.1'],
    ['100.63.255.255'],
    ['100.128.0.1'],
    ['169.253.1.1'],
    ['223.255.255.255'],
    ['2606:4700:4700::1111'],
    ['2a00:1450:4001:81b::200e'],
  ])('%s is public', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ['0.0.0.0', 'unspecified'],
    ['0.1.2.3', 'this network'],
    ['10.0.0.1', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['169.254.169.254', 'link-local, cloud metadata'],
    ['100.64.0.1', 'carrier-grade NAT'],
    ['100.100.100.200', 'carrier-grade NAT, cloud metadata'],
    ['192.0.0.192', 'protocol assignments'],
    ['192.0.2.1', 'documentation'],
    ['198.18.0.1', 'benchmarking'],
    ['198.51.100.1', 'documentation'],
    ['203.0.113.1', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['fe80::1', 'link-local'],
    ['fe80::1%eth0', 'link-local with a zone'],
    ['fec0::1', 'site-local'],
    ['fc00::1', 'unique local'],
    ['fd00:ec2::254', 'unique local, cloud metadata'],
    ['ff02::1', 'multicast'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['::ffff:8.8.8.8', 'IPv4-mapped'],
    ['::ffff:0:127.0.0.1', 'IPv4-translated'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['64:ff9b::7f00:1', 'NAT64'],
    ['64:ff9b:1::a00:1', 'local NAT64'],
    ['2002:7f00:1::', '6to4'],
    ['2001::1', 'Teredo'],
    ['2001:db8::1', 'documentation'],
    ['100::1', 'discard'],
    ['5f00::1', 'segment routing'],
    ['4000::1', 'not assigned'],
    ['localhost', 'no address'],
    ['', 'no address'],
  ])('%s is not public: %s', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('createNameResolver', () => {
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

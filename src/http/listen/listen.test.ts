import { once } from 'node:events';
import { connect, type Socket, type AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';

import { afterEach, describe, expect, it } from 'vitest';

import { testBodies } from '../../../test/support/serve-routes.ts';
import { fixedAmbient } from '../../../test/support/turn-events.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { unlessAborted } from '../../kit/async/wait.ts';
import { createLogger } from '../../observe/log.ts';
import { createMetrics } from '../../observe/metrics.ts';
import { ALL_SCOPES } from '../guards/scopes.ts';
import { createCors } from '../guards/cors.ts';
import { readJson } from '../body/read-json.ts';
import { listen, type Listener, endStalled } from './listen.ts';
import { createServer } from '../server.ts';

describe('listen', () => {
  let listener: Listener | null = null;
  const sockets: Socket[] = [];
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await listener?.close();
    listener = null;
  });

  /** A server that echoes bodies, by default of up to a hundred bytes, to callers with the key. */
  const start = async (uploadIdleTimeoutMs = 30_000, maxBytes = 100) => {
    const log: Record<string, unknown>[] = [];
    const server = createServer({
      routes: [
        {
          method: 'POST',
          path: '/echo',
          access: 'key',
          handle: async (http, { signal }) =>
            Response.json(await unlessAborted(readJson(http, { maxBytes }), signal)),
        },
      ],
      authenticate({ headers }) {
        if (headers.get('authorization') !== 'Bearer good') throw gatewayError('invalid_api_key');
        return { keyId: 'key_good', scopes: ALL_SCOPES };
      },
      isPrivate: () => false,
      cors: createCors(['http://page.test']),
      ambient: fixedAmbient(),
      observer: { open: () => null },
      logger: createLogger({
        level: 'info',
        destination: { write: (line) => void log.push(JSON.parse(line)) },
      }),
      metrics: createMetrics(),
      bodies: testBodies(),
      uploadIdleTimeoutMs,
    });
    listener = await listen(server.fetch, { host: '127.0.0.1', port: 0, refuse: server.refuse });
    return { port: Number(new URL(listener.url).port), log };
  };

  interface Client {
    readonly said: { text: string };
    readonly ended: Promise<unknown>;
    send(...lines: readonly string[]): void;
    /** Ends the sending side. */
    hangUp(): void;
  }

  const dial = async (port: number): Promise<Client> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    // Writes after the server has closed the connection fail.
    socket.on('error', () => {});
    await once(socket, 'connect');
    const said = { text: '' };
    socket.on('data', (chunk: Buffer) => (said.text += chunk.toString()));
    return {
      said,
      // Not `once`, which rejects for such an error.
      ended: new Promise((resolve) => void socket.once('close', resolve)),
      send: (...lines) => void socket.write(lines.join('\r\n')),
      hangUp: () => void socket.end(),
    };
  };

  /** Status line and error code of each answer. */
  const summary = (text: string): readonly string[] =>
    [...text.matchAll(/HTTP\/1\.1 (\d+)|"code":"(\w+)"|^(connection: close)/gim)].map((found) =>
      (found[1] ?? found[2] ?? found[3] ?? '').toLowerCase(),
    );

  const POST = ['POST /echo HTTP/1.1', 'host: h', 'content-type: application/json'];
  const GOOD = 'authorization: Bearer good';

  describe('a client that waits for 100 Continue', () => {
    it('gets it when its key and length are valid', async () => {
      const { port } = await start();
      const { send, said } = await dial(port);
      send(...POST, GOOD, 'content-length: 2', 'expect: 100-continue', '', '');
      await expect.poll(() => said.text).toBe('HTTP/1.1 100 Continue\r\n\r\n');
      send('{}');
      await expect.poll(() => summary(said.text)).toEqual(['100', '200']);
      // The connection stays open.
      send(...POST, GOOD, 'content-length: 2', '', '{}');
      await expect.poll(() => summary(said.text)).toEqual(['100', '200', '200']);
    });

    it.each([
      ['without a key', ['content-length: 2'], ['401', 'connection: close', 'invalid_api_key']],
      ['with too much', [GOOD, 'content-length: 101'], ['413', 'connection: close', 'request_too_large']],
    ])('is rejected at once %s', async (_, headers, expected) => {
      const { port } = await start();
      const { send, said, ended } = await dial(port);
      send(...POST, ...headers, 'expect: 100-continue', '', '');
      await ended;
      expect(summary(said.text).toSorted()).toEqual(expected.toSorted());
    });
  });

  describe('a web page whose request is malformed', () => {
    const PAGE = 'origin: http://page.test';

    it.each([
      ['has no host', ['POST /echo HTTP/1.1', PAGE, '', '']],
      ['breaks off in its body', [...POST, GOOD, PAGE, 'transfer-encoding: chunked', '', 'x', '']],
    ])('can read that it %s', async (_, lines) => {
      const { port } = await start();
      const { send, said } = await dial(port);
      send(...lines);
      await expect.poll(() => summary(said.text)).toContain('malformed_request');
      expect(said.text.toLowerCase()).toContain('access-control-allow-origin: http://page.test');
    });
  });

  describe('a client whose upload stalls', () => {
    it('gets an error, and the connection is closed', async () => {
      const { port, log } = await start(50);
      const { send, said, ended } = await dial(port);
      send(...POST, GOOD, 'content-length: 50', '', '{"a":');
      await ended;
      expect(summary(said.text)).toEqual(['408', 'connection: close', 'request_timeout']);
      expect(log).toMatchObject([{ msg: 'request', status: 408, errorCode: 'request_timeout' }]);
    });

    it.each(['content-length: 50', 'content-length: 90000', 'transfer-encoding: chunked'])(
      'gets the error also if no part of its body arrives (%s)',
      async (header) => {
        const { port, log } = await start(50, 100_000);
        const { send, said, ended } = await dial(port);
        send(...POST, GOOD, header, '', '');
        await ended;
        expect(summary(said.text)).toEqual(['408', 'connection: close', 'request_timeout']);
        expect(log).toMatchObject([{ msg: 'request', status: 408, errorCode: 'request_timeout' }]);
      },
    );

    it('is accepted while enough arrives', async () => {
      const { port } = await start(400, 1_000_000);
      const { send, said } = await dial(port);
      const pieces = ['[0', ...Array.from({ length: 20 }, () => ',1'.repeat(5_000)), ']'];
      send(...POST, GOOD, `content-length: ${pieces.join('').length}`, '', '');
      for (const piece of pieces) {
        send(piece);
        await sleep(40);
      }
      await expect.poll(() => summary(said.text)).toEqual(['200']);
    });

    it.each(['content-length: 90000', 'transfer-encoding: chunked'])(
      'gets an error if its body arrives too slowly (%s)',
      async (header) => {
        const { port, log } = await start(200, 100_000);
        const { send, said, ended } = await dial(port);
        send(...POST, GOOD, header, '', '');
        const drip = setInterval(() => send(header.includes('chunked') ? '1\r\n1\r\n' : '1'), 20);
        await ended;
        clearInterval(drip);
        expect(summary(said.text)).toEqual(['408', 'connection: close', 'request_timeout']);
        expect(said.text).toContain('The request body arrived too slowly: at least 1024 bytes per second');
        expect(log).toMatchObject([{ msg: 'request', status: 408, errorCode: 'request_timeout' }]);
      },
    );

    it('is rejected earlier without a key', async () => {
      const { port } = await start();
      const { send, said } = await dial(port);
      send(...POST, 'content-length: 50', '', '{"a":');
      await expect.poll(() => summary(said.text)).toContain('invalid_api_key');
    });
  });

  describe('an invalid request', () => {
    it.each([
      ['garbage', ['garbage', '', ''], ['400', 'malformed_request']],
      [
        'two lengths',
        [...POST, 'content-length: 1', 'content-length: 2', '', ''],
        ['400', 'malformed_request'],
      ],
      ['long headers', [...POST, `x: ${'x'.repeat(20_000)}`, '', ''], ['431', 'headers_too_large']],
      ['no host', ['GET /echo HTTP/1.1', '', ''], ['400', 'malformed_request']],
      ['a way to others', ['CONNECT other:443 HTTP/1.1', 'host: h', '', ''], ['405', 'method_not_allowed']],
      ['an invalid host', ['GET /echo HTTP/1.1', 'host: a b', '', ''], ['400', 'malformed_request']],
      [
        'a bad chunk',
        [...POST, GOOD, 'transfer-encoding: chunked', '', 'zz', ''],
        ['400', 'malformed_request'],
      ],
    ])('%s: is rejected with an error, and logged', async (_, lines, expected) => {
      const { port, log } = await start();
      const { send, said } = await dial(port);
      send(...lines);
      await expect
        .poll(() => summary(said.text).filter((one) => one !== 'connection: close'))
        .toEqual(expected);
      expect(said.text).toMatch(/^x-request-id: req_/m);
      expect(log).toContainEqual(
        expect.objectContaining({ msg: 'request', route: '(malformed)', errorCode: expected[1] }),
      );
    });

    it('is rejected after a valid request too', async () => {
      const { port } = await start();
      const { send, said, ended } = await dial(port);
      send(...POST, GOOD, 'content-length: 2', '', '{}');
      await expect.poll(() => summary(said.text)).toEqual(['200']);
      send('garbage', '', '');
      await ended;
      expect(summary(said.text)).toEqual(['200', '400', 'connection: close', 'malformed_request']);
    });

    it('does not include the rest of a body that the client abandoned', async () => {
      const { port, log } = await start();
      const { send, said, ended, hangUp } = await dial(port);
      send(...POST, GOOD, 'content-length: 1000', '', '{');
      await expect.poll(() => summary(said.text)).toContain('request_too_large');
      hangUp();
      await ended;
      expect(log.map(({ route, status }) => ({ route, status }))).toEqual([{ route: '/echo', status: 413 }]);
    });

    it('excludes HTTP/1.0 without a host', async () => {
      const { port } = await start();
      const { send, said, ended } = await dial(port);
      send('POST /echo HTTP/1.0', GOOD, 'content-length: 2', '', '{}');
      await ended;
      expect(summary(said.text)).toEqual(['200', 'connection: close']);
    });
  });
});

describe('endStalled', () => {
  let server: Server | null = null;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  const STALL_MS = 100;

  /** A client that has sent a request and does not read. */
  const ask = async (answer: RequestListener, stallMs = STALL_MS): Promise<Socket> => {
    server = createHttpServer(answer);
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

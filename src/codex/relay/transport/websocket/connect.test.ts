import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect, type AddressInfo, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';

import { makeCertificates } from '../../../../../test/chatgpt/certificate.ts';
import { createDial } from './dial.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const listen = async (server: Server): Promise<number> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
};

const { authority, certificate, key } = makeCertificates();

/** A WebSocket server with TLS, which notes what it was asked for. */
const startSecure = async () => {
  const noted: { alpn: unknown; server: unknown; version: string }[] = [];
  const server = createHttpsServer({ cert: certificate, key, ALPNProtocols: ['h2', 'http/1.1'] });
  new WebSocketServer({ server }).on('connection', (_, request: IncomingMessage) => {
    const { alpnProtocol, servername } = request.socket as TLSSocket & { servername: unknown };
    noted.push({ alpn: alpnProtocol, server: servername, version: request.httpVersion });
  });
  return { port: await listen(server), noted };
};

/** A proxy that sends every tunnel to this port, or answers with a status. */
const startProxy = async (to: number, status = 200) => {
  const asked: string[] = [];
  const proxy = createHttpServer();
  proxy.on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push(`${String(request.url)} ${String(request.headers['proxy-authorization'])}`);
    client.on('error', () => {});
    client.write(`HTTP/1.1 ${status} x\r\n\r\n`);
    if (status !== 200) {
      client.end();
      return;
    }
    const tunnel = connect(to, '127.0.0.1').on('error', () => {});
    client.pipe(tunnel).pipe(client);
  });
  return { port: await listen(proxy), asked };
};

const dialled = async (url: string, options: { proxy?: string; ca?: string[] }): Promise<string> => {
  const outcomes: string[] = [];
  const dial = createDial({
    clock: { now: () => 0 },
    cookies: null,
    trust: options.ca === undefined ? {} : { ca: options.ca },
    proxies: { noProxy: '', ...(options.proxy === undefined ? {} : { httpsProxy: options.proxy }) },
    onDial: (outcome) => outcomes.push(outcome),
  });
  const ignores = { onText() {}, onPing() {}, onClose() {} };
  const socket = await dial(url, {}, ignores, new AbortController().signal).catch(() => null);
  if (socket !== null) closers.push(() => socket.close());
  return outcomes.join();
};

describe('a secure socket', () => {
  it('trusts the given certificates, and offers no protocols', async () => {
    const { port, noted } = await startSecure();
    expect(await dialled(`https://127.0.0.1:${port}/responses`, { ca: [authority] })).toBe('101');
    expect(noted).toEqual([{ alpn: false, server: false, version: '1.1' }]);
  });

  it('is not opened to a host with another certificate', async () => {
    const { port } = await startSecure();
    expect(await dialled(`https://127.0.0.1:${port}/responses`, {})).toMatch(/CERT|SIGNATURE/);
  });
});

describe('a proxy', () => {
  it('is asked for a tunnel to the host, with its credentials', async () => {
    const { port, noted } = await startSecure();
    const proxy = await startProxy(port);
    const through = `http://user:p%40ss@127.0.0.1:${proxy.port}`;
    // The certificate is for this machine, so the name is refused; but the tunnel was used.
    const outcome = await dialled('https://chatgpt.example/responses', { proxy: through, ca: [authority] });
    expect(proxy.asked).toEqual([`chatgpt.example:443 Basic ${Buffer.from('user:p@ss').toString('base64')}`]);
    expect([outcome, noted]).toEqual(['ERR_TLS_CERT_ALTNAME_INVALID', []]);
  });

  it('may refuse', async () => {
    const proxy = await startProxy(9, 407);
    expect(await dialled('https://chatgpt.example/x', { proxy: `http://127.0.0.1:${proxy.port}` })).toBe(
      'PROXY_REFUSED',
    );
  });

  it('of another kind is not used', async () => {
    expect(await dialled('https://chatgpt.example/x', { proxy: 'socks5://127.0.0.1:9' })).toBe(
      'PROXY_REFUSED',
    );
  });

  it('is not used for this machine', async () => {
    const { port } = await startSecure();
    const url = `https://127.0.0.1:${port}/responses`;
    expect(await dialled(url, { proxy: 'http://127.0.0.1:9', ca: [authority] })).toBe('101');
  });
});

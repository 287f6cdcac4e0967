import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';

import { proxyFor, type ProxySettings, type Trust } from '../outbound.ts';

export interface ConnectOptions {
  readonly proxies: ProxySettings;
  readonly trust: Trust;
}

/**
 * A connection to the host of a URL, through the proxy of the environment. TLS offers no protocols (ALPN), as
 * codex's own WebSocket does not: the host would choose HTTP/2.
 */
export const connectTo = async (
  url: URL,
  { proxies, trust }: ConnectOptions,
  signal: AbortSignal,
): Promise<Duplex> => {
  const isSecure = url.protocol === 'wss:' || url.protocol === 'https:';
  const host = bare(url.hostname);
  const port = Number(url.port || (isSecure ? 443 : 80));
  const proxy = proxyFor(url, proxies);
  const tunnel =
    proxy === null ? null : await openTunnel(new URL(proxy), `${url.hostname}:${port}`, trust, signal);
  if (!isSecure) return tunnel ?? opened(connectTcp({ host, port }), 'connect', signal);
  const at = tunnel === null ? { host, port } : { socket: tunnel };
  const name = isIP(host) === 0 ? { servername: host } : {};
  return opened(connectTls({ ...at, ...name, ...trust }), 'secureConnect', signal);
};

const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

const opened = async (socket: Socket, event: string, signal: AbortSignal): Promise<Socket> => {
  try {
    await once(socket, event, { signal });
    return socket;
  } catch (error) {
    // It may still fail later.
    socket.on('error', () => {});
    socket.destroy();
    throw error;
  }
};

/** A tunnel through an HTTP proxy. */
const openTunnel = async (
  proxy: URL,
  authority: string,
  trust: Trust,
  signal: AbortSignal,
): Promise<Socket> => {
  const isSecure = proxy.protocol === 'https:';
  if (!isSecure && proxy.protocol !== 'http:') throw new ProxyError(`${proxy.protocol} is not supported`);
  const { username, password } = proxy;
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`);
  const asking = (isSecure ? httpsRequest : httpRequest)({
    method: 'CONNECT',
    host: bare(proxy.hostname),
    port: proxy.port || (isSecure ? 443 : 80),
    path: authority,
    agent: false,
    headers: {
      host: authority,
      ...(username === '' ? {} : { 'proxy-authorization': `Basic ${credentials.toString('base64')}` }),
    },
    ...(isSecure ? trust : {}),
  });
  const giveUp = (): void => void asking.destroy(new ProxyError('it did not answer'));
  signal.addEventListener('abort', giveUp);
  const answered = Promise.withResolvers<Socket>();
  asking.once('connect', ({ statusCode = 0 }, socket: Socket) => {
    if (statusCode === 200) {
      answered.resolve(socket);
      return;
    }
    socket.destroy();
    answered.reject(new ProxyError(`it answered ${statusCode}`));
  });
  asking.once('response', ({ statusCode = 0 }) => {
    asking.destroy();
    answered.reject(new ProxyError(`it answered ${statusCode}`));
  });
  asking.on('error', (error) => answered.reject(error));
  asking.end();
  return answered.promise.finally(() => signal.removeEventListener('abort', giveUp));
};

/** The proxy did not open a tunnel. */
class ProxyError extends Error {
  readonly code = 'PROXY_REFUSED';
  constructor(why: string) {
    super(`no tunnel through the proxy: ${why}`);
  }
}

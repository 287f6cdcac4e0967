import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Duplex } from 'node:stream';

import type { Clock } from '../../../../kit/ambient.ts';
import { codeOf } from '../connection.ts';
import type { CookieJar } from '../cookies.ts';
import { BackendSocket, type SocketListener, type UpgradedConnection } from './backend-socket.ts';
import { connectTo, type ConnectOptions } from './connect.ts';
import type { Deflate } from './wire.ts';

/** The upgrade failed. */
export class DialError extends Error {
  readonly code: string;
  /** The answer to the upgrade; null: there was none. */
  readonly status: number | null;
  /** `403`, `timeout` or an error code. */
  readonly outcome: string;

  constructor(status: number | null, outcome: string) {
    super(`the WebSocket was not opened: ${outcome}`);
    this.status = status;
    this.outcome = outcome;
    this.code = `WS_${outcome}`;
  }
}

export interface DialOptions extends ConnectOptions {
  readonly clock: Clock;
  readonly cookies: CookieJar | null;
  /** What happened, `101` or the reason of a failure. */
  readonly onDial: (outcome: string, ms: number) => void;
}

/** Opens a socket. `signal` gives up. */
export type Dial = (
  url: string,
  headers: Readonly<Record<string, string>>,
  listener: SocketListener,
  signal: AbortSignal,
) => Promise<BackendSocket>;

const TIMEOUT_MS = 10_000;

export const createDial =
  (options: DialOptions): Dial =>
  async (url, headers, listener, signal) => {
    const { clock, cookies, onDial } = options;
    const startedAt = performance.now();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), TIMEOUT_MS);
    const given = AbortSignal.any([late.signal, signal]);
    let raw: Duplex | null = null;
    try {
      const target = new URL(url.replace(/^http/, 'ws'));
      raw = await connectTo(target, options, given);
      const cookie = cookies?.headerFor(url) ?? null;
      const upgraded = await upgrade(raw, {
        target,
        headers: { ...headers, ...(cookie === null ? {} : { cookie }) },
        keepCookies: ({ 'set-cookie': set }) => cookies?.keep(url, set),
        signal: given,
      });
      const socket = new BackendSocket(upgraded, clock.now(), listener);
      onDial('101', performance.now() - startedAt);
      return socket;
    } catch (error) {
      raw?.destroy();
      const failed = late.signal.aborted ? new DialError(null, 'timeout') : toDialError(error);
      if (!signal.aborted) onDial(failed.outcome, performance.now() - startedAt);
      throw failed;
    } finally {
      clearTimeout(timer);
    }
  };

const toDialError = (error: unknown): DialError =>
  error instanceof DialError ? error : new DialError(null, codeOf(error) === '' ? 'protocol' : codeOf(error));

/** The server did not answer as a WebSocket. */
class UpgradeError extends Error {
  readonly code = 'protocol';
}

interface Upgrade {
  readonly target: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Called with the headers of any answer. */
  readonly keepCookies: (head: IncomingHttpHeaders) => void;
  readonly signal: AbortSignal;
}

/** Deflate as codex offers it. */
const EXTENSION = 'permessage-deflate';
const OFFER = `${EXTENSION}; client_max_window_bits`;

/** Asks for a WebSocket on a connection (RFC 6455). */
const upgrade = async (
  connection: Duplex,
  { target, headers, keepCookies, signal }: Upgrade,
): Promise<UpgradedConnection> => {
  const isSecure = target.protocol === 'wss:';
  const key = randomBytes(16).toString('base64');
  const asking = httpRequest({
    createConnection: () => connection,
    defaultPort: isSecure ? 443 : 80,
    host: target.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: target.port === '' ? (isSecure ? 443 : 80) : target.port,
    path: target.pathname + target.search,
    headers: {
      ...headers,
      'Sec-WebSocket-Version': 13,
      'Sec-WebSocket-Key': key,
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Extensions': OFFER,
    },
  });
  const answered = Promise.withResolvers<UpgradedConnection>();
  const giveUp = (): void => void asking.destroy(new UpgradeError('it did not answer'));
  signal.addEventListener('abort', giveUp);
  asking.once('upgrade', ({ headers: head }, upgraded: Duplex, received: Buffer) => {
    keepCookies(head);
    try {
      answered.resolve({ connection: upgraded, head, received, deflate: agreed(head, key) });
    } catch (error) {
      upgraded.destroy();
      answered.reject(error);
    }
  });
  asking.once('response', ({ statusCode = 0, headers: head }) => {
    keepCookies(head);
    answered.reject(new DialError(statusCode, String(statusCode)));
    asking.destroy();
  });
  // Also after the answer: an error without a listener would end the process.
  asking.on('error', (error) => answered.reject(error));
  asking.end();
  if (signal.aborted) giveUp();
  return answered.promise.finally(() => signal.removeEventListener('abort', giveUp));
};

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** What the server agreed to. Throws if it is not a WebSocket, or not the one that we asked for. */
const agreed = (head: IncomingHttpHeaders, key: string): Deflate | null => {
  const expected = createHash('sha1').update(`${key}${GUID}`).digest('base64');
  if (head.upgrade?.toLowerCase() !== 'websocket') throw new UpgradeError('it upgraded to something else');
  if (head['sec-websocket-accept'] !== expected) throw new UpgradeError('it answered another request');
  if (head['sec-websocket-protocol'] !== undefined) throw new UpgradeError('no protocol was asked for');
  return readDeflate(head['sec-websocket-extensions']);
};

/** Null: the server does not compress. Throws for an extension or a parameter that was not offered. */
export const readDeflate = (extensions: string | undefined): Deflate | null => {
  if (extensions === undefined) return null;
  const [name, ...parameters] = extensions.split(';').map((part) => part.trim());
  const read = new Map<string, string>();
  for (const parameter of parameters) {
    const [, key = '', value = ''] = /^([a-z_]+)(?:\s*=\s*"?(\d+)"?)?$/.exec(parameter) ?? [];
    if (!PARAMETERS[key]?.test(value) || read.has(key)) throw new UpgradeError(`extension: ${extensions}`);
    read.set(key, value);
  }
  if (name !== EXTENSION) throw new UpgradeError(`extension: ${extensions}`);
  return {
    keepsWindow: !read.has('server_no_context_takeover'),
    windowBits: Number(read.get('client_max_window_bits') ?? 15),
  };
};

const NO_VALUE = /^$/;
const WINDOW_BITS = /^(?:[89]|1[0-5])$/;
const PARAMETERS: Readonly<Record<string, RegExp>> = {
  server_no_context_takeover: NO_VALUE,
  client_no_context_takeover: NO_VALUE,
  server_max_window_bits: WINDOW_BITS,
  client_max_window_bits: WINDOW_BITS,
};

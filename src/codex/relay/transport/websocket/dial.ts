import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { WebSocket, type ClientOptions } from 'ws';

import type { Clock } from '../../../../kit/ambient.ts';
import { codeOf } from '../connection.ts';
import type { CookieJar } from '../cookies.ts';
import { BackendSocket, type SocketListener } from './backend-socket.ts';
import { connectTo, type ConnectOptions } from './connect.ts';

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

/** The published types lack one. */
interface Settings extends ClientOptions {
  readonly closeTimeout: number;
}

const TIMEOUT_MS = 10_000;
/** After this a socket that was closed from here is cut. */
const CLOSE_TIMEOUT_MS = 1_000;
/** The largest message: the reader of answers skips events of more than 16 MiB and gives up at 32. */
const MAX_MESSAGE_BYTES = 48 * 1024 * 1024;

/** Deflate as codex offers it. Level 1 takes a third of the CPU of the default and leaves a fifth more to send. */
const DEFLATE = { zlibDeflateOptions: { level: 1 } };

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
      const connected = raw;
      const cookie = cookies?.headerFor(url) ?? null;
      const settings: Settings = {
        createConnection: () => connected as Socket,
        headers: { ...headers, ...(cookie === null ? {} : { cookie }) },
        perMessageDeflate: DEFLATE,
        maxPayload: MAX_MESSAGE_BYTES,
        closeTimeout: CLOSE_TIMEOUT_MS,
      };
      const ws = new WebSocket(target, settings);
      const socket = await upgraded(ws, given, {
        keepCookies: ({ 'set-cookie': set }) => cookies?.keep(url, set),
        toSocket: (head) => new BackendSocket(ws, head, clock.now(), listener),
      });
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

interface UpgradeHandlers {
  readonly keepCookies: (head: IncomingHttpHeaders) => void;
  readonly toSocket: (head: IncomingHttpHeaders) => BackendSocket;
}

const upgraded = (
  ws: WebSocket,
  signal: AbortSignal,
  { keepCookies, toSocket }: UpgradeHandlers,
): Promise<BackendSocket> => {
  const opened = Promise.withResolvers<BackendSocket>();
  let head: IncomingHttpHeaders = {};
  const giveUp = (): void => ws.terminate();
  signal.addEventListener('abort', giveUp);
  ws.once('upgrade', ({ headers }) => {
    head = headers;
    keepCookies(headers);
  });
  ws.once('unexpected-response', (_, answer) => {
    const { statusCode = 0, headers } = answer;
    keepCookies(headers);
    opened.reject(new DialError(statusCode, String(statusCode)));
    ws.terminate();
  });
  // Also after it has opened, when there is another listener: an error without one would end the process.
  ws.on('error', (error) => opened.reject(error));
  // Before the first message can arrive.
  ws.once('open', () => opened.resolve(toSocket(head)));
  return opened.promise.finally(() => signal.removeEventListener('abort', giveUp));
};

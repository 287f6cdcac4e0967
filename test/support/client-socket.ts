import { once } from 'node:events';

import { WebSocket } from 'ws';

import type { JsonObject } from '../../src/kit/json/json.ts';
import type { TestProxy } from './proxy.ts';

/** A WebSocket of a client, with what it has received. */
export interface TestSocket {
  readonly ws: WebSocket;
  /** Every event so far. */
  readonly events: readonly JsonObject[];
  send(event: unknown): void;
  /** The next event that meets the condition and was not returned before. Rejects if the socket closes first. */
  next(isWanted: (event: JsonObject) => boolean): Promise<JsonObject>;
  /** Sends `response.create`, and returns the last event of its response. */
  create(body: object): Promise<JsonObject>;
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

const ENDS: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
]);

export const isEnd = ({ type }: JsonObject): boolean => ENDS.has(type);

export const isType =
  (wanted: string) =>
  ({ type }: JsonObject): boolean =>
    type === wanted;

/** The headers of an upgrade. */
export const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

export interface SocketOptions {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a WebSocket with the key of the proxy. */
export const openSocket = async (
  { url, key }: Pick<TestProxy, 'url' | 'key'>,
  { path = '/v1/responses', headers = {} }: SocketOptions = {},
): Promise<TestSocket> => {
  const ws = new WebSocket(url.replace('http', 'ws') + path, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  const socket = collected(ws);
  await once(ws, 'open');
  return socket;
};

interface Waiter {
  isWanted(event: JsonObject): boolean;
  resolve(event: JsonObject): void;
  reject(error: Error): void;
}

const collected = (ws: WebSocket): TestSocket => {
  const events: JsonObject[] = [];
  const unread: JsonObject[] = [];
  const waiters: Waiter[] = [];
  let isClosed = false;
  ws.on('message', (data: Buffer, isBinary) => {
    if (isBinary) throw new Error('a binary message');
    const event = JSON.parse(data.toString()) as JsonObject;
    events.push(event);
    const at = waiters.findIndex(({ isWanted }) => isWanted(event));
    if (at === -1) unread.push(event);
    else waiters.splice(at, 1)[0]?.resolve(event);
  });
  ws.on('error', () => {});
  const leftOpen = (): Error => new Error(`closed before the event: ${JSON.stringify(events.at(-1))}`);
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    ws.on('close', (code, reason) => {
      isClosed = true;
      resolve({ code, reason: reason.toString() });
      for (const { reject } of waiters.splice(0)) reject(leftOpen());
    });
  });
  const next = (isWanted: Waiter['isWanted']): Promise<JsonObject> =>
    new Promise((resolve, reject) => {
      const at = unread.findIndex(isWanted);
      const [found] = at === -1 ? [] : unread.splice(at, 1);
      if (found !== undefined) resolve(found);
      else if (isClosed) reject(leftOpen());
      else waiters.push({ isWanted, resolve, reject });
    });
  const send = (event: unknown): void => ws.send(typeof event === 'string' ? event : JSON.stringify(event));
  return {
    ws,
    events,
    send,
    next,
    create(body) {
      send({ type: 'response.create', model: 'gpt-5.5', ...body });
      return next(isEnd);
    },
    closed,
  };
};

/** The response of an event. */
export const responseOf = (event: JsonObject): JsonObject => event['response'] as JsonObject;
export const idOf = (event: JsonObject): string => responseOf(event)['id'] as string;

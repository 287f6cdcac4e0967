import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';
import type { WebSocket } from 'ws';

import { encodeEvent } from '../../src/demo/connection.ts';
import type { ModelConnection, ModelRequest } from '../../src/demo/connection.ts';
import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { parseObject } from './loopback-server.ts';

/** A script's connection whose answer goes out as messages of a WebSocket. */
export interface FrameConnection extends ModelConnection {
  /** Ends the socket, and with it the answer. */
  close(code: number, reason: string): void;
}

export const isFrameConnection = (connection: ModelConnection): connection is FrameConnection =>
  'close' in connection;

/** The service's error in a message: what is a status and a body over HTTP. */
export const errorFrame = (status: number, body: Json, headers: JsonObject = {}): JsonObject => ({
  type: 'error',
  status,
  status_code: status,
  error: errorIn(body),
  headers,
});

const errorIn = (body: Json): JsonObject => {
  if (isJsonObject(body) && isJsonObject(body['error'])) return body['error'];
  const message = isJsonObject(body) && typeof body['detail'] === 'string' ? body['detail'] : body;
  return {
    type: 'invalid_request_error',
    code: null,
    message: typeof message === 'string' ? message : JSON.stringify(message),
    param: null,
  };
};

const LAST: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.failed',
  'response.incomplete',
  'error',
]);
const BETWEEN_EVENTS = /\r?\n\r?\n/;

const dataOf = (event: string): string =>
  event
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n');

/**
 * Answers one frame. The socket stays open for the next one, unless the answer breaks off. `onLast` is called
 * when the last event goes out.
 */
export const openFrame = (
  incoming: Omit<ModelRequest, 'signal'>,
  socket: WebSocket,
  onLast: () => void,
): FrameConnection => {
  const gone = new AbortController();
  const lost = Promise.withResolvers<void>();
  let isOver = false;
  let hasLast = false;
  let unfinished = '';

  const onClose = (): void => {
    if (!isOver) gone.abort();
    isOver = true;
    lost.resolve();
  };
  socket.once('close', onClose);
  if (socket.readyState !== socket.OPEN) onClose();

  const finish = (): void => {
    isOver = true;
    socket.off('close', onClose);
    lost.resolve();
  };
  const send = (text: string): void => {
    if (text === '' || socket.readyState !== socket.OPEN) return;
    if (!hasLast && LAST.has(parseObject(text)?.['type'])) {
      hasLast = true;
      onLast();
    }
    socket.send(text);
  };
  const write = (raw: string): void => {
    if (isOver) return;
    const events = (unfinished + raw).split(BETWEEN_EVENTS);
    unfinished = events.pop() ?? '';
    for (const event of events) send(dataOf(event));
  };
  const close = (code: number, reason: string): void => {
    finish();
    socket.close(code, reason);
  };

  return {
    request: { ...incoming, signal: gone.signal },
    signal: gone.signal,
    get closed() {
      return isOver;
    },
    // The headers were on the answer to the upgrade.
    open: () => {},
    write,
    async flush() {
      while (socket.readyState === socket.OPEN && socket.bufferedAmount > 0) await sleep(1);
      await nextRound();
    },
    event: (event) => write(encodeEvent(event)),
    reply(status, body, headers = {}) {
      if (isOver) return;
      send(JSON.stringify(errorFrame(status, body, headers)));
      finish();
    },
    async wait(ms) {
      if (!isOver) await sleep(ms, undefined, { signal: gone.signal }).catch(() => {});
    },
    async hang() {
      if (!isOver) await lost.promise;
    },
    end() {
      if (isOver) return;
      send(unfinished);
      // What ends an answer over HTTP, and only breaks it off here.
      if (hasLast) finish();
      else close(1011, 'the answer has no end');
    },
    destroy() {
      if (isOver) return;
      finish();
      socket.terminate();
    },
    close,
  };
};

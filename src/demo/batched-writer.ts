import type { ServerResponse } from 'node:http';
import { setImmediate as nextRound } from 'node:timers/promises';

/** Many small events share one write to the socket; more than this is never held back. */
const BATCH_CHARS = 64 * 1024;

export type Headers = Readonly<Record<string, string>>;

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

export interface BatchedWriter {
  /** Sets the headers of the stream; later calls do nothing. */
  readonly open: (headers?: Headers) => void;
  readonly write: (raw: string) => void;
  /** Hands everything to the socket. */
  readonly send: () => void;
  /** Hands everything to the socket, and waits until it takes more. */
  readonly flush: () => Promise<void>;
}

export const batchedWriter = (response: ServerResponse, isClosed: () => boolean): BatchedWriter => {
  let pending = '';
  let headersWait = false;
  let sendIsDue = false;

  const send = (): void => {
    if (isClosed()) return;
    if (pending !== '') {
      const batch = pending;
      pending = '';
      open();
      response.write(batch);
    } else if (headersWait) response.flushHeaders();
    headersWait = false;
  };

  // What a script writes in one go leaves in one go, also when it never asks for a flush.
  const sendSoon = (): void => {
    if (sendIsDue) return;
    sendIsDue = true;
    queueMicrotask(() => {
      sendIsDue = false;
      send();
    });
  };

  const open = (headers: Headers = {}): void => {
    if (isClosed() || response.headersSent) return;
    response.writeHead(200, { ...STREAM_HEADERS, ...headers });
    headersWait = true;
    sendSoon();
  };

  return {
    open,
    write(raw) {
      if (isClosed()) return;
      pending += raw;
      if (pending.length >= BATCH_CHARS) send();
      else sendSoon();
    },
    send,
    async flush() {
      send();
      if (isClosed()) return;
      // Asked of the socket, because it may have been full before this flush.
      if (response.writableNeedDrain) await drained(response);
      // A fast reader never fills the socket: without this the loop would starve everyone else.
      else await nextRound();
    },
  };
};

const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.once('drain', done);
    response.once('close', done);
  });

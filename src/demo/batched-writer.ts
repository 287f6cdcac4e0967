import type { ServerResponse } from 'node:http';
import { setImmediate as nextRound } from 'node:timers/promises';

/** Small events share one socket write; at this size the batch is sent at once. */
const BATCH_CHARS = 64 * 1024;

export type Headers = Readonly<Record<string, string>>;

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

export interface BatchedWriter {
  /** Sends the response headers; later calls do nothing. */
  readonly open: (headers?: Headers) => void;
  readonly write: (raw: string) => void;
  /** Writes the batch to the socket. */
  readonly send: () => void;
  /** Writes the batch to the socket, then waits until the socket accepts more. */
  readonly flush: () => Promise<void>;
}

/** Collects small writes and sends them together. */
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

  // Everything that a script writes synchronously is sent as one batch, even without a flush.
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
      // The socket may have been full before this flush, so `write`'s return value is not enough.
      if (response.writableNeedDrain) await drained(response);
      // A fast reader never fills the socket; yield so that other requests make progress.
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

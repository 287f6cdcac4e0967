import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep, setImmediate as nextRound } from 'node:timers/promises';

import type { Json, JsonObject } from '../kit/json/json.ts';

/** Small events share one socket write; at this size the batch is sent at once. */
const BATCH_CHARS = 64 * 1024;

type ResponseHeaders = Readonly<Record<string, string>>;

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

interface BatchedWriter {
  /** Sends the response headers; later calls do nothing. */
  readonly open: (headers?: ResponseHeaders) => void;
  readonly write: (raw: string) => void;
  /** Writes the batch to the socket. */
  readonly send: () => void;
  /** Writes the batch to the socket, then waits until the socket accepts more. */
  readonly flush: () => Promise<void>;
}

/** Collects small writes and sends them together. */
const batchedWriter = (response: ServerResponse, isClosed: () => boolean): BatchedWriter => {
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

  const open = (headers: ResponseHeaders = {}): void => {
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

/** One request to the model, as received. */
export interface ModelRequest {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the caller disconnects. */
  readonly signal: AbortSignal;
}

/** How the exchange ended: the script finished it, the script cut the socket, or the caller disconnected. */
export type Ending = 'finished' | 'cut' | 'aborted';

export type ModelEvent = JsonObject & { readonly type: string };

/** Low-level operations of a script. `answer` builds complete event sequences from them. */
export interface ModelConnection extends Pick<BatchedWriter, 'open' | 'write' | 'flush'> {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  /** True when nothing more can be sent: ended, cut, or the caller disconnected. */
  readonly closed: boolean;
  /** Sends a complete response instead of a stream, such as an error. A string body is sent verbatim. */
  reply(status: number, body: Json, headers?: ResponseHeaders): void;
  event(event: ModelEvent): void;
  /** Flushes, then waits; returns early when the caller disconnects. */
  wait(ms: number): Promise<void>;
  /** Flushes, then waits until the caller disconnects. */
  hang(): Promise<void>;
  end(): void;
  /** Destroys the socket at once. */
  destroy(): void;
}

interface OpenConnection {
  readonly connection: ModelConnection;
  readonly ended: Promise<Ending>;
}

export const encodeEvent = (event: ModelEvent): string =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

export const openConnection = (
  incoming: Omit<ModelRequest, 'signal'>,
  response: ServerResponse,
): OpenConnection => {
  const gone = new AbortController();
  const ended = Promise.withResolvers<Ending>();
  let finished = false;
  let cut = false;
  const writer = batchedWriter(response, () => finished);

  const onClose = (): void => {
    finished = true;
    if (cut) ended.resolve('cut');
    else if (response.writableFinished) ended.resolve('finished');
    else {
      ended.resolve('aborted');
      gone.abort();
    }
  };
  // Reading a long request takes several event loop rounds; the caller may disconnect meanwhile.
  if (response.closed) onClose();
  else response.once('close', onClose);

  const connection: ModelConnection = {
    request: { ...incoming, signal: gone.signal },
    signal: gone.signal,
    get closed() {
      return finished;
    },
    reply(status, body, headers = {}) {
      if (finished) return;
      finished = true;
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(text);
    },
    open: writer.open,
    write: writer.write,
    flush: writer.flush,
    event(event) {
      writer.write(encodeEvent(event));
    },
    async wait(ms) {
      await writer.flush();
      if (!finished) await sleepUnlessAborted(ms, gone.signal);
    },
    async hang() {
      writer.send();
      if (!finished) await ended.promise;
    },
    end() {
      if (finished) return;
      writer.open();
      writer.send();
      finished = true;
      response.end();
    },
    destroy() {
      if (finished) return;
      finished = true;
      cut = true;
      response.destroy();
    },
  };
  return { connection, ended: ended.promise };
};

/** Resolves early on abort instead of throwing. */
const sleepUnlessAborted = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

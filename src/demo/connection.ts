import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json, JsonObject } from '../kit/json/json.ts';
import { batchedWriter } from './batched-writer.ts';
import type { BatchedWriter, Headers } from './batched-writer.ts';

/** One call of the model, as it arrived. */
export interface ModelRequest {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal;
}

/** Who ended the exchange: the script, the script by cutting it off, or the caller. */
export type Ending = 'finished' | 'cut' | 'aborted';

export type ModelEvent = JsonObject & { readonly type: string };

/** What a script may do with the answer. The builders in answer.ts stand on these steps. */
export interface ModelConnection extends Pick<BatchedWriter, 'open' | 'write' | 'flush'> {
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  /** Nothing more can be sent: ended, cut, or the caller is gone. */
  readonly closed: boolean;
  /** A whole HTTP answer that is no stream, such as an error. A string goes out as it is. */
  reply(status: number, body: Json, headers?: Headers): void;
  event(event: ModelEvent): void;
  /** Flushes, then waits; returns early when the caller goes. */
  wait(ms: number): Promise<void>;
  /** Flushes, then waits for the caller to go. */
  hang(): Promise<void>;
  end(): void;
  /** Cuts the socket off in the middle of whatever it was doing. */
  destroy(): void;
}

export interface OpenConnection {
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
  // A long request is read in turns, and its caller may go meanwhile.
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

/** An abort ends the wait, it is not an error of the script. */
const sleepUnlessAborted = async (ms: number, signal: AbortSignal): Promise<void> => {
  try {
    await sleep(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
};

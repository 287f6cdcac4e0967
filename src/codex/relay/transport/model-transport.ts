import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';

import type { Headers } from '../../end-to-end-headers.ts';

export type TransportName = 'http' | 'websocket';

/** How a request should be sent. The first attempt leaves it to the transport; a resend may not. */
export interface SendRoute {
  readonly transport: TransportName | 'any';
  /** Not on a connection that was used or opened before: what broke one may have broken all of them. */
  readonly isFresh: boolean;
}

export const ANY_ROUTE: SendRoute = { transport: 'any', isFresh: false };

/** A request for the backend. */
export interface TransportRequest {
  readonly url: string;
  readonly method: string;
  /** Without cookies and `content-length`. */
  readonly headers: Headers;
  /** Null: without a body. */
  readonly body: Payload | null;
  /** Whether it is the model request of a turn; only these are sent over a WebSocket. */
  readonly isTurn: boolean;
  readonly route: SendRoute;
  /** Aborts the request, and its answer. */
  readonly signal: AbortSignal;
  /** The request is being sent this way. */
  readonly onSending: (transport: TransportName) => void;
  /** Something arrived before the answer was returned. A keepalive is a sign of life, but not progress. */
  readonly onHeard: (sign: 'event' | 'keepalive') => void;
}

/** The bytes of an answer. */
export interface AnswerBody extends AsyncIterable<Buffer> {
  /** Ends the connection if the answer is not complete. */
  destroy(): unknown;
}

export interface TransportHead {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
}

export interface TransportAnswer extends TransportHead {
  readonly body: AnswerBody;
}

/** Sends requests to the backend. Whatever the transport, an answer looks like that of a POST. */
export interface ModelTransport {
  /** Rejects with an error that has a `code` if there is no answer. */
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Prepares for requests with these headers. */
  warm(url: string, headers: Headers): void;
  close(): void;
}

/** Smaller bodies may be kept until their answer has ended. */
const SMALL_BYTES = 64 * 1024;

/**
 * The body of a request, which is released when a connection has it: a conversation is large, and its answer may
 * take minutes to begin. A request that is sent again is written again.
 */
export class Payload {
  #bytes: Uint8Array | null;
  readonly size: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  get bytes(): Uint8Array {
    if (this.#bytes === null) throw new Error('a body was sent twice');
    return this.#bytes;
  }

  release(): void {
    this.#bytes = null;
  }

  /** For the HTTP client, which keeps buffers until the answer has ended. */
  get stream(): Uint8Array | Readable {
    return this.size <= SMALL_BYTES ? this.bytes : Readable.from(this.#handedOver(), { objectMode: false });
  }

  async *#handedOver(): AsyncGenerator<Uint8Array> {
    const held = [this.bytes];
    this.release();
    for (let next = held.pop(); next !== undefined; next = held.pop()) yield next;
  }
}

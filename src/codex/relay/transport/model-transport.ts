import type { IncomingHttpHeaders } from 'node:http';

import type { Headers } from '../../end-to-end-headers.ts';
import type { Payload } from './payload.ts';

export type TransportName = 'http' | 'websocket';

/** How a request should be sent. The first attempt leaves it to the transport; a resend may not. */
export interface Route {
  readonly transport: TransportName | 'any';
  /** Not on a connection that was used or opened before: what broke one may have broken all of them. */
  readonly isFresh: boolean;
}

export const ANY_ROUTE: Route = { transport: 'any', isFresh: false };

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
  readonly route: Route;
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
export interface Transport {
  /** Rejects with an error that has a `code` if there is no answer. */
  send(request: TransportRequest): Promise<TransportAnswer>;
  /** Prepares for requests with these headers. */
  warm(url: string, headers: Headers): void;
  close(): void;
}

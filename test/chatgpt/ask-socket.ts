import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { WebSocket } from 'ws';

import { isJsonObject } from '../../src/kit/json/json.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { backend } from './ask-backend.ts';
import type { Draft } from './conforming.ts';
import { WEBSOCKET_BETA } from './rules-socket.ts';

/** A plain WebSocket client of the imitation: what the product sends, without the product. */

const LITE_HEADER = 'x-openai-internal-codex-responses-lite';

/** The headers that open a socket for this request. */
export const upgradeHeaders = ({ headers }: Draft): Record<string, string> => {
  const { [LITE_HEADER]: _lite, 'x-codex-turn-state': _state, ...passed } = headers;
  return {
    ...passed,
    'openai-beta': WEBSOCKET_BETA,
    ...(headers['session-id'] !== undefined && { 'x-client-request-id': headers['session-id'] }),
  };
};

/** The message that is this request on a socket. */
export const frameOf = ({ headers, body }: Draft): JsonObject => ({
  type: 'response.create',
  ...body,
  client_metadata: {
    ...(isJsonObject(body['client_metadata']) ? body['client_metadata'] : {}),
    session_id: headers['session-id'] ?? null,
    thread_id: headers['thread-id'] ?? null,
    'x-codex-turn-metadata': headers['x-codex-turn-metadata'] ?? null,
    'x-codex-ws-stream-request-start-ms': String(Date.now()),
    ...(headers[LITE_HEADER] === 'true' && {
      ws_request_header_x_openai_internal_codex_responses_lite: 'true',
    }),
    ...(headers['x-codex-turn-state'] !== undefined && {
      'x-codex-turn-state': headers['x-codex-turn-state'],
    }),
  },
});

const LAST = new Set<unknown>(['response.completed', 'response.failed', 'response.incomplete', 'error']);

/** An open socket, and everything that arrived on it. */
export class AskSocket {
  readonly #socket: WebSocket;
  readonly #events: JsonObject[] = [];
  readonly headers: IncomingHttpHeaders;
  /** The close code and reason. */
  readonly closed: Promise<string>;
  #wake = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(socket: WebSocket, headers: IncomingHttpHeaders) {
    this.#socket = socket;
    this.headers = headers;
    socket.on('message', (data: Buffer) => {
      this.#events.push(JSON.parse(data.toString('utf8')) as JsonObject);
      this.#wake.resolve();
    });
    const closed = Promise.withResolvers<string>();
    this.closed = closed.promise;
    socket.once('close', (code, reason) => {
      this.#isClosed = true;
      this.#wake.resolve();
      closed.resolve(`${String(code)} ${reason.toString('utf8')}`.trim());
    });
  }

  get isDeflated(): boolean {
    return this.#socket.extensions.includes('permessage-deflate');
  }

  send(frame: JsonObject | string): void {
    this.#socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** The next event; null: the socket closed. */
  async next(): Promise<JsonObject | null> {
    while (this.#events.length === 0 && !this.#isClosed) {
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
    return this.#events.shift() ?? null;
  }

  /** Up to the end of one answer, or of the socket. */
  async rest(): Promise<readonly JsonObject[]> {
    const events: JsonObject[] = [];
    for (let event = await this.next(); event !== null; event = await this.next()) {
      events.push(event);
      if (LAST.has(event['type'])) break;
    }
    return events;
  }

  answer(draft: Draft, more: JsonObject = {}): Promise<readonly JsonObject[]> {
    this.send({ ...frameOf(draft), ...more });
    return this.rest();
  }

  close(): void {
    this.#socket.terminate();
  }
}

/** What came instead of a 101. */
export interface RefusedUpgrade {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const request = (headers: Record<string, string>): WebSocket => {
  const socket = new WebSocket(`${backend.baseUrl.replace('http', 'ws')}/codex/responses`, { headers });
  // The test sees it as the end of the socket.
  socket.on('error', () => {});
  return socket;
};

export const dial = async (headers: Record<string, string>): Promise<AskSocket> => {
  const socket = request(headers);
  const upgraded = once(socket, 'upgrade') as Promise<[IncomingMessage]>;
  const [answer] = await upgraded;
  const asking = new AskSocket(socket, answer.headers);
  if (socket.readyState === socket.CONNECTING) await once(socket, 'open');
  return asking;
};

export const refusedDial = async (headers: Record<string, string>): Promise<RefusedUpgrade> => {
  const socket = request(headers);
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  const body = await text(answer);
  socket.terminate();
  return { status: answer.statusCode ?? 0, headers: answer.headers, body };
};

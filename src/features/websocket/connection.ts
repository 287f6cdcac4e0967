import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import { gatewayError, type Failure, type GatewayError } from '../../canonical/failure/failure.ts';
import type { Caller } from '../../http/guards/scopes.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { CLIENT_GONE } from '../../observe/request-end.ts';
import { parseJson } from '../../http/body/read-json.ts';
import type { OpenExchange } from '../../http/exchange/exchange.ts';
import { errorEvent, eventObject, laneOf, readClientEvent, type CreateEvent } from './events.ts';
import { websocketError } from './feature.ts';
import type { ConnectionMemory } from './connection-memory.ts';
import { Lanes, type LanesOptions } from './lanes.ts';
import { binaryMessage, Inbox, ResponseStream, SocketWriter, type ClientMessage } from './messages.ts';
import {
  serveCreate,
  type CreateDeps,
  type Creation,
  type CreationRoom,
  type ServedBy,
} from './serve-create.ts';
import { Steering } from './steering.ts';

/** Codes of close frames: RFC 6455, and the registry of IANA. */
export const CLOSE = {
  normal: 1000,
  goingAway: 1001,
  policyViolation: 1008,
  tooLarge: 1009,
  tryAgainLater: 1013,
} as const;

/** A close frame has room for so many bytes of text. */
const MAX_REASON_BYTES = 123;

/** The text of a close frame. */
export const closeReason = (text: string): string => {
  const bytes = Buffer.from(text);
  return bytes.length <= MAX_REASON_BYTES
    ? text
    : bytes.subarray(0, MAX_REASON_BYTES).toString().replace(/�+$/, '');
};

export interface ConnectionOptions {
  /** Of the upgrade. Those of its requests begin with it. */
  readonly requestId: string;
  /** Of the upgrade. They count as those of each request. */
  readonly headers: Headers;
  readonly identity: Caller;
  readonly address: string;
  readonly isLocal: boolean;
  readonly checkKey: ServedBy['checkKey'];
  readonly memory: ConnectionMemory;
  readonly queue: LanesOptions['queue'];
  readonly times: ConnectionTimes;
}

/** Why a connection is closed as soon as nothing runs. */
interface CloseReason {
  readonly code: number;
  readonly error: GatewayError;
}

/** The requests of one WebSocket. */
export class Connection {
  /** The id of the client's key. */
  readonly caller: string;
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #options: ConnectionOptions;
  readonly #deps: CreateDeps;
  readonly #gone = new AbortController();
  readonly #writer: SocketWriter;
  readonly #inbox: Inbox;
  readonly #lanes: Lanes;
  readonly #liveness: Liveness;
  readonly #servedBy: ServedBy;
  readonly #openedAt: number;
  #lastUsedAt: number;
  #requests = 0;
  #ending: CloseReason | null = null;

  constructor(ws: WebSocket, socket: Duplex, options: ConnectionOptions, deps: CreateDeps) {
    const { identity, headers, checkKey, memory, queue, times } = options;
    const caller = identity.keyId;
    const { signal } = this.#gone;
    this.#ws = ws;
    this.#socket = socket;
    this.#options = options;
    this.#deps = deps;
    this.caller = caller;
    this.#openedAt = this.#now();
    this.#lastUsedAt = this.#openedAt;
    this.#liveness = new Liveness(times, this.#openedAt);
    const writer = new SocketWriter(ws, socket);
    this.#writer = writer;
    this.#lanes = new Lanes({
      maxWaitingBytes: deps.turns.maxBodyBytes,
      queue,
      onIdle: () => this.#idle(),
    });
    this.#inbox = new Inbox(ws, socket, {
      onMessage: (message) => this.#take(message),
      onRefused: ({ failure }) => this.fail(failure, CLOSE.tryAgainLater),
      openHeld: (onYield) => deps.turns.bodies.open(caller, signal, onYield),
      now: () => this.#now(),
    });
    const steering = new Steering({
      ids: deps.turns.ambient.ids,
      openStream: () => new ResponseStream(writer, null, signal),
    });
    const openResponse = (bytes: number) => (this.#ending === null ? this.#openResponse(bytes) : null);
    this.#servedBy = { headers, writer, memory, steering, signal, checkKey, openResponse };
  }

  /** Since when it is of no use; null: something runs. */
  get idleSince(): number | null {
    return this.#lanes.isIdle ? this.#lastUsedAt : null;
  }

  get facts() {
    const { requestId } = this.#options;
    return {
      requestId,
      keyId: this.caller,
      durationMs: this.#now() - this.#openedAt,
      requests: this.#requests,
    };
  }

  /** The WebSocket is closed: everything of it ends. */
  closed(): void {
    this.#gone.abort();
    this.#lanes.dropWaiting();
    this.#inbox.close();
    this.#options.memory.clear();
  }

  /** The server is stopping: what runs may end, everything else is refused. */
  drain(): void {
    this.#end(CLOSE.goingAway, gatewayError('shutting_down'));
    this.#lanes.dropWaiting();
  }

  /** Another key needs the connection: what runs may end, everything else is refused. */
  giveWay(): void {
    const message = 'Another client needs this connection. Please connect again later.';
    this.#end(CLOSE.tryAgainLater, gatewayError('server_overloaded', { message, retryAfterSeconds: 5 }));
    this.#lanes.dropWaiting();
  }

  /** Reports an error of the connection itself, and closes it. */
  fail(failed: Failure, code: number): void {
    this.#writer.send(JSON.stringify(errorEvent(failed, null)));
    this.close(code, failed.message);
  }

  close(code: number, reason: string): void {
    this.#writer.flush();
    this.#ws.close(code, closeReason(reason));
  }

  terminate(): void {
    this.#ws.terminate();
  }

  /** Called every few seconds: closes a connection that is idle or stuck, or whose client is gone. */
  beat(): void {
    const { lastDataAt, isArriving } = this.#inbox;
    const isBehind = this.#socket.writableLength > 0 || this.#ws.isPaused;
    const signs = { now: this.#now(), lastDataAt, isArriving, isBehind, idleSince: this.idleSince };
    const verdict = this.#liveness.look(signs);
    switch (verdict) {
      case 'fine':
        return;
      case 'ping':
        this.#ws.ping();
        return;
      case 'idle':
        this.close(CLOSE.normal, 'The connection was idle.');
        return;
      case 'stuck':
        this.fail(gatewayError('request_timeout').failure, CLOSE.policyViolation);
        return;
      case 'dead':
        this.terminate();
        return;
      default:
        assertNever(verdict);
    }
  }

  async #take({ bytes, isBinary }: ClientMessage): Promise<void> {
    this.#lastUsedAt = this.#now();
    let lane: string | null = null;
    try {
      if (isBinary) throw binaryMessage();
      const object = eventObject(await parseJson(bytes, this.#gone.signal));
      lane = laneOf(object);
      const event = readClientEvent(object);
      if (event.kind === 'create') this.#create(event, lane, bytes.length);
      else await this.#servedBy.steering.steer(event.responseId, event.event, bytes.length);
    } catch (error) {
      // Also what is not a request is logged and counted.
      this.#refuse(this.#openExchange(), error, lane);
    }
    // A client that does not read its answers could fill the memory with them.
    if (this.#writer.isFull) await this.#writer.drained();
  }

  #create({ generates, body }: CreateEvent, streamId: string | null, bytes: number): void {
    if (this.#now() - this.#openedAt >= this.#options.times.maxAgeMs) {
      this.#end(CLOSE.normal, websocketError('websocket_connection_limit_reached'));
    }
    if (this.#ending !== null) throw this.#ending.error;
    const creation = { ...this.#openResponse(bytes), streamId, generates, body, steered: null };
    try {
      creation.held.grow(bytes);
      this.#lanes.add({
        lane: streamId,
        bytes,
        run: () => serveCreate(creation, this.#servedBy, this.#deps),
        drop: () => this.#drop(creation, this.#ending?.error),
      });
    } catch (error) {
      this.#drop(creation, error);
    }
  }

  #openResponse(bytes: number): CreationRoom {
    const exchange = this.#openExchange();
    const { bodies } = this.#deps.turns;
    const held = bodies.open(this.caller, exchange.signal, (error) => exchange.abort(error));
    return { bytes, held, exchange };
  }

  #openExchange(): OpenExchange {
    const { requestId, headers, address, isLocal, identity } = this.#options;
    this.#requests += 1;
    const exchange = this.#deps.exchanges.open({
      requestId: `${requestId}.${this.#requests}`,
      method: 'WEBSOCKET',
      route: this.#deps.api.path,
      headers,
      address,
      isLocal: () => isLocal,
      clientSignal: this.#gone.signal,
    });
    exchange.admit(identity);
    return exchange;
  }

  #drop({ held, exchange, streamId }: Creation, error: unknown): void {
    held.letGo();
    this.#refuse(exchange, error, streamId);
  }

  #refuse(exchange: OpenExchange, error: unknown, lane: string | null): void {
    if (this.#gone.signal.aborted) exchange.note({ status: CLIENT_GONE });
    else {
      const failed = this.#deps.exchanges.failed(exchange, error);
      exchange.note({ status: failed.status });
      const about = { 'x-request-id': exchange.requestId };
      this.#writer.send(JSON.stringify(errorEvent(failed, lane, about)));
    }
    exchange.returned();
  }

  #end(code: number, error: GatewayError): void {
    this.#ending ??= { code, error };
    // After the answer to the message that is being read.
    setImmediate(() => this.#closeIfEnded());
  }

  #idle(): void {
    this.#lastUsedAt = this.#now();
    this.#closeIfEnded();
  }

  #closeIfEnded(): void {
    if (this.#ending !== null && this.#lanes.isIdle)
      this.close(this.#ending.code, this.#ending.error.message);
  }

  #now(): number {
    return this.#deps.turns.ambient.clock.now();
  }
}

/** How long a connection may do what. */
export interface ConnectionTimes {
  /** Older connections accept no requests. */
  readonly maxAgeMs: number;
  /** Without messages, and while nothing runs. */
  readonly idleMs: number;
  /** Between two pings. The client has as long to answer. */
  readonly pingMs: number;
  /** Without a byte of a message that has begun to arrive. */
  readonly uploadIdleMs: number;
}

/** What is known about a connection at some time. */
export interface Signs {
  readonly now: number;
  /** When the client last sent anything. */
  readonly lastDataAt: number;
  /** A message has arrived in part. */
  readonly isArriving: boolean;
  /** The client has not read everything, or nothing of it is being read: it cannot answer a ping now. */
  readonly isBehind: boolean;
  /** Since when the connection is of no use; null: something runs. */
  readonly idleSince: number | null;
}

/** `stuck`: a message does not arrive to its end. `dead`: no answer to a ping. */
export type Verdict = 'fine' | 'ping' | 'idle' | 'stuck' | 'dead';

/** Decides what to do about a connection, every few seconds. */
export class Liveness {
  readonly #times: ConnectionTimes;
  #lastPingAt: number;
  #isPongDue = false;

  constructor(times: ConnectionTimes, now: number) {
    this.#times = times;
    this.#lastPingAt = now;
  }

  look({ now, lastDataAt, isArriving, isBehind, idleSince }: Signs): Verdict {
    const { idleMs, pingMs, uploadIdleMs } = this.#times;
    if (isArriving && now - lastDataAt >= uploadIdleMs) return 'stuck';
    if (idleSince !== null && now - idleSince >= idleMs) return 'idle';
    if (now - this.#lastPingAt < pingMs) return 'fine';
    if (this.#isPongDue && !isBehind && lastDataAt < this.#lastPingAt) return 'dead';
    this.#lastPingAt = now;
    this.#isPongDue = !isBehind;
    return isBehind ? 'fine' : 'ping';
  }
}

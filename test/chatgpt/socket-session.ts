import type { RawData, WebSocket } from 'ws';

import { encodeEvent } from '../../src/demo/connection.ts';
import type { ModelEvent } from '../../src/demo/connection.ts';
import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { CONNECTION_LIMIT } from './faults.ts';
import { errorFrame, openFrame } from './frame-connection.ts';
import type { FrameConnection } from './frame-connection.ts';
import type { FrameSeen, Judged } from './judge.ts';
import { parseObject } from './loopback-server.ts';
import type { Dial } from './recorded.ts';
import type { Settings } from './settings.ts';

export interface SessionOptions {
  readonly settings: Settings;
  readonly path: string;
  readonly judge: (seen: FrameSeen) => Judged;
  /** Answers a valid frame. */
  readonly answer: (judged: Judged, connection: FrameConnection, isReused: boolean) => Promise<void>;
}

export type OpenDial = { -readonly [Key in keyof Dial]: Dial[Key] };

/** One WebSocket: its frames, one answer after the other, its pings and its end. */
export class SocketSession {
  readonly #socket: WebSocket;
  readonly #dial: OpenDial;
  readonly #options: SessionOptions;
  readonly #timers: readonly NodeJS.Timeout[];
  /** The last response of this socket, which the next frame may continue. */
  #last: { readonly id: Json; readonly items: readonly Json[] } | null = null;
  #queue = Promise.resolve();
  #waiting = 0;
  /** Frames whose last event has not gone out: a client may send the next frame as soon as it has. */
  #unanswered = 0;
  #served = 0;
  #isTooOld = false;
  #pongDue: NodeJS.Timeout | null = null;

  constructor(socket: WebSocket, dial: OpenDial, options: SessionOptions) {
    const { settings } = options;
    this.#socket = socket;
    this.#dial = dial;
    this.#options = options;
    this.#timers = [
      setInterval(() => this.#ping(), settings.pingEveryMs),
      setTimeout(() => this.#age(), settings.websocketMinutes * 60_000),
    ];
    socket.on('message', (data) => this.#receive(data));
    socket.on('pong', () => {
      dial.pongs += 1;
      if (this.#pongDue !== null) clearTimeout(this.#pongDue);
      this.#pongDue = null;
    });
    // A peer that disconnects is not an error of the fake.
    socket.on('error', () => {});
    socket.on('close', (code, reason) => {
      dial.closed = { code, reason: reason.toString('utf8') };
      for (const timer of this.#timers) clearTimeout(timer);
      if (this.#pongDue !== null) clearTimeout(this.#pongDue);
    });
  }

  get isIdle(): boolean {
    return this.#waiting === 0;
  }

  close(code: number): void {
    this.#socket.close(code);
  }

  /** Without a close frame, as a network or a load balancer ends a socket. */
  cut(): void {
    this.#socket.terminate();
  }

  #receive(data: RawData): void {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
    this.#dial.frames += 1;
    if (bytes.length >= this.#options.settings.websocketMaxBytes) {
      this.#socket.close(1009, 'message too big');
      return;
    }
    const frame = parseObject(bytes.toString('utf8'));
    if (frame === null) {
      this.#socket.send(JSON.stringify(errorFrame(400, { detail: 'Bad Request' })));
      return;
    }
    const judged = this.#options.judge(this.#seen(frame));
    this.#waiting += 1;
    this.#unanswered += 1;
    this.#queue = this.#queue
      .then(() => this.#answer(judged))
      .catch((error: unknown) => {
        process.emitWarning(String(error), 'ImitationWarning');
        this.#socket.terminate();
      })
      .finally(() => {
        this.#waiting -= 1;
        if (this.#isTooOld) this.#age();
      });
  }

  #seen(frame: JsonObject): FrameSeen {
    const { type, previous_response_id: previous, ...body } = frame;
    const isKnown = previous !== undefined && previous === this.#last?.id;
    const input =
      isKnown && Array.isArray(body['input']) ? [...(this.#last?.items ?? []), ...body['input']] : null;
    return {
      dial: this.#dial,
      path: this.#options.path,
      frame,
      body: input === null ? body : { ...body, input },
      type,
      isEarly: this.#unanswered > 0,
      continuesKnown: previous === undefined || isKnown,
    };
  }

  async #answer(judged: Judged): Promise<void> {
    const { request, refusal } = judged;
    const connection = openFrame(request, this.#socket, () => {
      this.#unanswered -= 1;
    });
    if (refusal !== null) connection.reply(refusal.status, refusal.body);
    else {
      await this.#options.answer(judged, this.#listened(request.body, connection), this.#served > 0);
      this.#served += 1;
    }
    connection.end();
  }

  /** Notes what the answer says, so that the next frame can continue it. */
  #listened(body: JsonObject, connection: FrameConnection): FrameConnection {
    const items: Json[] = [];
    const onEvent = (event: ModelEvent): void => {
      if (event.type === 'response.output_item.done' && event['item'] !== undefined)
        items.push(event['item']);
      if (event.type === 'response.completed' && isJsonObject(event['response']))
        this.#remember(event['response']['id'] ?? null, body['input'], items);
    };
    const write = (raw: string): void => {
      for (const [, data = ''] of raw.matchAll(/^data: (.*)$/gm)) {
        const event = parseObject(data);
        if (event !== null) onEvent(event as ModelEvent);
      }
      connection.write(raw);
    };
    // The getters of the connection must stay getters.
    return Object.defineProperties({} as FrameConnection, {
      ...Object.getOwnPropertyDescriptors(connection),
      write: { value: write },
      event: { value: (event: ModelEvent) => write(encodeEvent(event)) },
    });
  }

  #remember(id: Json, input: Json | undefined, output: readonly Json[]): void {
    this.#last = { id, items: [...(Array.isArray(input) ? input : []), ...output] };
  }

  #ping(): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.ping();
    this.#pongDue ??= setTimeout(() => {
      this.#socket.close(1011, 'keepalive ping timeout');
    }, this.#options.settings.pongWithinMs);
  }

  /** Only between answers. */
  #age(): void {
    this.#isTooOld = true;
    if (!this.isIdle || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(JSON.stringify(errorFrame(400, CONNECTION_LIMIT)));
    this.#socket.close(1000, 'connection limit reached');
  }
}

import { isJsonObject, parseJsonObject, type JsonObject, type Json } from '../../../../kit/json/json.ts';
import { endToEnd } from '../../../end-to-end-headers.ts';
import { isKeepalive, isNeutral } from '../../answer/read-event.ts';
import type { TransportAnswer, TransportRequest, TransportHead } from '../model-transport.ts';
import { AnswerQueue } from './answer-queue.ts';
import { isNew, type BackendSocket, type SocketListener } from './backend-socket.ts';
import { type SocketMessage, frameType, isInternal, toSse } from './frame.ts';
import { LostSocketError } from './lost-socket.ts';
import { TURN_STATE_HEADER } from './upgrade-headers.ts';

/** Until then the limits on the 101 of an unused socket are those of now. */
const HEAD_FRESH_MS = 60_000;
/** Beyond this the start of an answer is passed on, though it has no output yet. */
const MAX_HELD_BYTES = 4 * 1024 * 1024;
/** A frame this large may be closed while it is sent: the next attempt is a POST. */
const LARGE_FRAME_BYTES = 4 * 1024 * 1024;
/** WebSocket's code for a message that is too large. */
const TOO_LARGE = 1009;
/** The close codes of a service that ends or restarts in an orderly way; 1005: without a code. */
const GOING_AWAY: ReadonlySet<number> = new Set([1000, 1001, 1005, 1012]);

interface SocketAnswerOptions extends Pick<TransportRequest, 'signal' | 'onHeard'> {
  /** When the socket was taken. */
  readonly nowMs: number;
  /** Called once: nothing more is expected on the socket. */
  readonly onOver: (isReusable: boolean) => void;
  /** A new socket was closed at its first use, before any message. */
  readonly onRejected: () => void;
  /** The backend rejected a message of this size. */
  readonly onTooLarge: (bytes: number) => void;
}

/**
 * One answer on a socket, in the form of a POST's. Events before the first output are held: until then
 * the answer has not begun, and a failure means that the request may be sent again.
 */
export class SocketAnswer implements SocketListener {
  readonly #socket: BackendSocket;
  readonly #options: SocketAnswerOptions;
  readonly #begun = Promise.withResolvers<TransportAnswer>();
  readonly #queue: AnswerQueue;
  readonly #abort = (): void => {
    this.#queue.clear();
    this.#end(abortError());
  };
  #headers: Record<string, string> = {};
  #frameBytes = 0;
  #hasFrames = false;
  #isCreated = false;
  #isBegun = false;
  #isOver = false;

  constructor(socket: BackendSocket, options: SocketAnswerOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#queue = new AnswerQueue({
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      onOverflow: (error) => this.#end(error),
      onLeft: () => this.#end(abortError()),
    });
  }

  /** Sends the request and resolves with the first event of output, or an error of the backend. */
  send(frame: SocketMessage): Promise<TransportAnswer> {
    const { signal } = this.#options;
    this.#frameBytes = frame.bytes;
    // If both fail, the answer is the one that is reported.
    this.#begun.promise.catch(() => {});
    if (signal.aborted) this.#abort();
    else {
      signal.addEventListener('abort', this.#abort);
      this.#socket.listen(this);
      this.#socket.send(frame).catch(() => this.#lost(null));
    }
    return this.#begun.promise;
  }

  onPing(): void {
    if (!this.#isBegun) this.#options.onHeard('keepalive');
  }

  onClose(code: number): void {
    if (this.#isOver) return;
    if (code === TOO_LARGE && !this.#isBegun) {
      this.#options.onTooLarge(this.#frameBytes);
      this.#end(new LostSocketError('too-large', `code ${code}`, true));
    } else this.#lost(code);
  }

  onText(data: Buffer): void {
    if (this.#isOver) return;
    const type = frameType(data);
    this.#hasFrames = true;
    if (!this.#isBegun) this.#options.onHeard(isKeepalive(type) ? 'keepalive' : 'event');
    if (type === 'error') this.#failed(readErrorFrame(parseJsonObject(data.toString('utf8')) ?? {}));
    else if (isInternal(type)) this.#note(type, data);
    // As in a POST's answer, a keepalive shows that the backend is alive, and nothing else.
    else if (isKeepalive(type)) return;
    else if (this.#isOfAnother(type)) this.#end(new LostSocketError('out-of-turn', String(type), false));
    else {
      this.#isCreated = true;
      this.#pass(type, data);
    }
  }

  /** An answer begins by being created. Output before that is of the last request, and may be another caller's. */
  #isOfAnother(type: string | null): boolean {
    const isBegin = type === 'response.created' || type === 'response.failed';
    return !this.#isCreated && !isBegin && this.#socket.uses > 1;
  }

  #pass(type: string | null, data: Buffer): void {
    this.#queue.push(toSse(type, data));
    if (!isNeutral(type) || this.#queue.bytes > MAX_HELD_BYTES) this.#begin();
    // codex drops a socket after every failure.
    if (type === 'response.failed') this.#complete(false);
    else if (type === 'response.completed' || type === 'response.incomplete') this.#complete(true);
  }

  #note(type: string | null, data: Buffer): void {
    // Too late for the head.
    if (this.#isBegun) return;
    const event = parseJsonObject(data.toString('utf8')) ?? {};
    if (type === 'codex.rate_limits') Object.assign(this.#headers, limitHeaders(event));
    // Before the response is created it may be the last one's.
    else if (this.#isCreated) Object.assign(this.#headers, turnState(event));
  }

  #failed(error: ErrorFrame): void {
    const { status, headers, body } = error;
    if (!this.#isBegun && error.isAgeLimit)
      this.#end(new LostSocketError('age-limit', 'the backend ended it', false));
    else if (!this.#isBegun && error.isDuplicateItem && this.#socket.uses > 1)
      this.#end(new LostSocketError('duplicate-item', 'the backend mixed up two requests', false));
    else if (!this.#isBegun && status !== null) {
      this.#queue.clear();
      this.#queue.push(Buffer.from(JSON.stringify(body)));
      this.#begin({ statusCode: status, headers: { ...headers, 'content-type': 'application/json' } });
      this.#complete(false);
    } else {
      const failed = Buffer.from(JSON.stringify(toFailedEvent(error)));
      this.#pass('response.failed', failed);
    }
  }

  #begin(head: TransportHead = this.#head()): void {
    if (this.#isBegun) return;
    this.#isBegun = true;
    this.#begun.resolve({ ...head, body: this.#queue });
  }

  #head(): TransportHead {
    const { head, uses, openedAt } = this.#socket;
    const isFresh = uses <= 1 && this.#options.nowMs - openedAt < HEAD_FRESH_MS;
    const headers = {
      ...(isFresh ? ownHeaders(endToEnd(head)) : {}),
      'content-type': 'text/event-stream',
      ...this.#headers,
    };
    return { statusCode: 200, headers };
  }

  #complete(isReusable: boolean): void {
    this.#queue.end();
    this.#over(isReusable);
  }

  /** `code` is that of the close; null: the request could not be written. */
  #lost(code: number | null): void {
    const { uses, hasWaited } = this.#socket;
    // A spare may be closed while the request is on its way. A fresh socket shows whether that was a rejection.
    const isCrossed = hasWaited && (code === null || GOING_AWAY.has(code));
    const isUnused = uses <= 1 && !this.#hasFrames;
    const isRejected = isUnused && !isCrossed && isNew(this.#socket, this.#options.nowMs);
    if (isRejected) this.#options.onRejected();
    const needsPost = isRejected || this.#frameBytes > LARGE_FRAME_BYTES;
    const detail = code === null ? 'closed while sending' : `code ${code}`;
    this.#end(new LostSocketError('closed', detail, needsPost));
  }

  #end(error: Error): void {
    if (this.#isOver) return;
    this.#queue.fail(error);
    this.#begun.reject(error);
    this.#over(false);
  }

  #over(isReusable: boolean): void {
    this.#isOver = true;
    this.#options.signal.removeEventListener('abort', this.#abort);
    this.#options.onOver(isReusable);
  }
}

const abortError = (): Error => new DOMException('the request was aborted', 'AbortError');

/** The headers of a 101 that an answer would have, too. */
const ownHeaders = (head: Readonly<Record<string, string | string[]>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(head).flatMap(([name, value]) =>
      typeof value !== 'string' || NOT_OURS.test(name) ? [] : [[name, value]],
    ),
  );

const NOT_OURS = /^(?:sec-websocket-.*|content-.*|set-cookie|x-codex-turn-state)$/;

/** The state that codex returns with further requests of the turn. */
const turnState = (event: JsonObject): Record<string, string> => {
  const headers = isJsonObject(event['headers']) ? event['headers'] : {};
  const state = headers[TURN_STATE_HEADER];
  return isHeaderValue(state) ? { [TURN_STATE_HEADER]: state } : {};
};

/** An `error` message of the backend. */
interface ErrorFrame {
  /** Null: it names none. */
  readonly status: number | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the same error as the answer of a POST. */
  readonly body: JsonObject;
  /** The backend ends every socket after an hour. */
  readonly isAgeLimit: boolean;
  /** The backend mistakes the history for what it has seen on this socket. */
  readonly isDuplicateItem: boolean;
}

export const readErrorFrame = (event: JsonObject): ErrorFrame => {
  const { type: _, status, status_code: statusCode, headers, ...rest } = event;
  const error = isJsonObject(event['error']) ? event['error'] : {};
  const message = typeof error['message'] === 'string' ? error['message'] : '';
  return {
    status: [status, statusCode].find(isErrorStatus) ?? null,
    headers: headersOf(headers),
    body: rest,
    isAgeLimit: error['code'] === 'websocket_connection_limit_reached',
    isDuplicateItem: message.startsWith('Duplicate item found with id'),
  };
};

/** The same failure as the last event of a stream. */
export const toFailedEvent = ({ status, body }: ErrorFrame): JsonObject => ({
  type: 'response.failed',
  ...(status === null ? {} : { status }),
  response: {
    object: 'response',
    status: 'failed',
    error: isJsonObject(body['error']) ? body['error'] : { message: detailOf(body) },
  },
});

const detailOf = ({ detail, message }: JsonObject): string => {
  const text = [detail, message].find((one) => typeof one === 'string');
  return typeof text === 'string' ? text : 'The backend reported an error.';
};

const isErrorStatus = (value: Json | undefined): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599;

const headersOf = (headers: Json | undefined): Readonly<Record<string, string>> => {
  if (!isJsonObject(headers)) return {};
  const read = Object.entries(headers).flatMap(([name, value]): [string, string][] => {
    const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    return HEADER_NAME.test(name) && isHeaderValue(text) ? [[name.toLowerCase(), text]] : [];
  });
  return Object.fromEntries(read);
};

/** Not those that describe the body or the connection: the body is ours. */
const HEADER_NAME = /^(?!content-|transfer-|connection$|set-cookie$)[a-z0-9-]{1,64}$/i;

const WINDOWS = ['primary', 'secondary'] as const;
const FIELDS = ['used_percent', 'window_minutes', 'reset_at'] as const;
const CREDITS = ['has_credits', 'unlimited', 'balance'] as const;
const LIMIT_NAME = /^[a-z0-9_-]{1,64}$/i;

/** The limits in a `codex.rate_limits` message, under the names of the headers of a POST's answer. */
export const limitHeaders = (event: JsonObject): Readonly<Record<string, string>> => {
  const headers: Record<string, string> = {};
  const name = [event['metered_limit_name'], event['limit_name']].find((one) => typeof one === 'string');
  const limit = dashed(typeof name === 'string' && LIMIT_NAME.test(name) ? name.toLowerCase() : 'codex');
  const add = (prefix: string, values: JsonObject, fields: readonly string[]): void => {
    for (const field of fields) {
      const value = values[field];
      const header = `x-${prefix}-${dashed(field)}`;
      if (typeof value === 'number' || isHeaderValue(value)) headers[header] = String(value);
      // The backend's own headers have this spelling.
      else if (typeof value === 'boolean') headers[header] = value ? 'True' : 'False';
    }
  };
  const limits = objectIn(event, 'rate_limits');
  for (const window of WINDOWS) add(`${limit}-${window}`, objectIn(limits, window), FIELDS);
  add('codex-credits', objectIn(event, 'credits'), CREDITS);
  add('codex', event, ['plan_type']);
  return headers;
};

/** Whether a text can be sent as the value of a header. */
const isHeaderValue = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x20-\x7e]+$/.test(value);

const dashed = (name: string): string => name.replaceAll('_', '-');

const objectIn = (object: JsonObject, key: string): JsonObject => {
  const value = object[key];
  return isJsonObject(value) ? value : {};
};

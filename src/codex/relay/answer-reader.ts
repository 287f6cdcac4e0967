import { failure, type Failure } from '../../canonical/failure.ts';
import { isJsonObject, type JsonObject } from '../../kit/json.ts';
import { inTurns } from '../../kit/loop-turns.ts';
import { isContent, isRead } from '../sources/answer-events.ts';
import type { WireSignal } from '../sources/wire-signal.ts';
import { isKeepalive } from './keepalive.ts';
import { isLongEvent, readEvent, readEventSteps, type BeyondLimit } from './read-event.ts';
import { MAX_EVENT_BYTES, SseEvents } from './sse-events.ts';

export interface AnswerReaderOptions {
  readonly onSignal: (signal: WireSignal) => void;
  readonly toFailure: (event: JsonObject) => Failure;
  /** The backend is alive: more than a keepalive came. */
  readonly onLife: () => void;
  /** The request's: reading a long event stops when it is aborted. */
  readonly signal: AbortSignal;
  /** An event that would have been read is no JSON object, or beyond a limit. */
  readonly onUnreadable?: ((why: Unreadable) => void) | undefined;
  /** Told of each event; its data as far as they are read. */
  readonly onEvent?: ((type: string | null, data: JsonObject | string | null) => void) | undefined;
}

export type Unreadable = 'no-json' | 'too-long' | BeyondLimit;

interface Arrived {
  readonly type: string | null;
  readonly data: string | null;
}

/** Reads a streamed answer on its way to the app-server: each event is parsed once, and handed on. */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #onSignal: (signal: WireSignal) => void;
  readonly #events = new SseEvents({
    wants: isRead,
    onEvent: (type, data) => this.#arrived.push({ type, data }),
  });
  /** Events that have come and have not been read. */
  #arrived: Arrived[] = [];
  /** The last word was said: nothing has to come any more. */
  #isOver = false;
  #isReported = false;
  /** No more bytes will come. */
  #isAtEnd = false;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
    this.#onSignal = options.onSignal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** It says one thing and does not come to its end. */
  get isEndless(): boolean {
    return this.#events.isEndless;
  }

  begin(): void {
    this.#onSignal({ kind: 'answer-started' });
  }

  /** A promise where a long event is read, which takes several turns of the loop. Nothing may be pushed meanwhile. */
  push(chunk: Uint8Array): Promise<void> | null {
    this.#events.push(chunk);
    if (this.#events.isInLongLine) this.#options.onLife();
    return this.#readArrived();
  }

  #readArrived(): Promise<void> | null {
    const all = this.#arrived;
    this.#arrived = [];
    for (const [index, { type, data }] of all.entries()) {
      if (data !== null && isLongEvent(data) && this.#isWanted(type)) return this.#readLong(all.slice(index));
      this.#see(type, data, readEvent);
    }
    return null;
  }

  async #readLong(all: readonly Arrived[]): Promise<void> {
    for (const { type, data } of all) {
      const isLong = data !== null && isLongEvent(data) && this.#isWanted(type);
      const read = isLong ? await inTurns(readEventSteps(data), this.#options.signal) : null;
      this.#see(type, data, isLong ? () => read : readEvent);
    }
  }

  #isWanted(type: string | null): boolean {
    return !this.#isReported && (type === null || isRead(type));
  }

  /** Nothing more comes: the backend broke off, or the app-server left. Without its last word an answer is not whole. */
  end(how: 'cut' | 'left'): void {
    this.#isAtEnd = true;
    this.#arrived = [];
    this.#events.end();
    for (const { type, data } of this.#arrived) this.#see(type, data, readEvent);
    this.#report({ kind: 'answer-ended', how });
  }

  #see(named: string | null, data: string | null, parse: typeof readEvent): void {
    if (!isKeepalive(named)) this.#options.onLife();
    if (this.#isReported) return;
    const { onEvent } = this.#options;
    if (data === '[DONE]') {
      onEvent?.(named, data);
      this.#isOver = true;
      return;
    }
    if (named !== null && !isRead(named)) {
      onEvent?.(named, null);
      return;
    }
    if (data === null) {
      this.#beyond(named, 'too-long');
      return;
    }
    const event = parse(data);
    if (typeof event === 'string') {
      onEvent?.(named, null);
      this.#beyond(named, event);
      return;
    }
    onEvent?.(named, event ?? data);
    const type = named ?? event?.['type'];
    // What is no JSON object says nothing to codex either.
    if (event === null || typeof type !== 'string') this.#options.onUnreadable?.('no-json');
    else if (isRead(type)) this.#read(type, event);
  }

  #read(type: string, data: JsonObject): void {
    const response = isJsonObject(data['response']) ? data['response'] : {};
    switch (type) {
      case 'response.completed':
        // The app-server does not take an answer without an id.
        if (typeof response['id'] === 'string') this.#completed(response);
        return;
      case 'response.incomplete':
        this.#report({ kind: 'answer-ended', how: 'incomplete', response });
        return;
      case 'response.failed':
      case 'error':
        this.#isOver = true;
        this.#onSignal({ kind: 'refused', failure: this.#options.toFailure(data) });
        return;
      default:
        this.#onSignal({ kind: 'answer-said', type, data });
    }
  }

  /** Content that nobody here can read must not be missing from an answer that is called whole. */
  #beyond(type: string | null, why: Exclude<Unreadable, 'no-json'>): void {
    this.#options.onUnreadable?.(why);
    // The app-server takes it, unless it is too deep.
    if (type === 'response.completed' && why !== 'too-deep') {
      this.#completed(null);
      return;
    }
    // A preview that is too large is left out: what came of it stands in the item.
    if (type !== null && !isContent(type)) return;
    this.#onSignal({ kind: 'refused', failure: failure('upstream_error', { message: BEYOND[why] }) });
    this.#report({ kind: 'answer-ended', how: 'cut' });
  }

  #completed(response: JsonObject | null): void {
    // Nor does it take an event whose end is missing.
    if (!this.#isAtEnd) this.#report({ kind: 'answer-ended', how: 'completed', response });
  }

  #report(signal: Extract<WireSignal, { kind: 'answer-ended' }>): void {
    if (this.#isReported) return;
    this.#isOver = true;
    this.#isReported = true;
    this.#onSignal(signal);
  }
}

const BEYOND: Readonly<Record<Exclude<Unreadable, 'no-json'>, string>> = {
  'too-long': `The upstream sent an event of more than ${MAX_EVENT_BYTES / 1024 / 1024} MB.`,
  'too-deep': 'The upstream sent an event that is nested too deeply.',
  'too-wide': 'The upstream sent an event with too many values.',
};

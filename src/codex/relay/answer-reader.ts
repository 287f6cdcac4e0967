import { failure, type Failure } from '../../canonical/failure.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json.ts';
import { isContent, isRead } from '../sources/answer-events.ts';
import type { WireSignal } from '../sources/wire-signal.ts';
import { isKeepalive } from './keepalive.ts';
import { MAX_EVENT_BYTES, SseEvents } from './sse-events.ts';

export interface AnswerReaderOptions {
  readonly onSignal: (signal: WireSignal) => void;
  readonly toFailure: (event: JsonObject) => Failure;
  /** The backend is alive: more than a keepalive came. */
  readonly onLife: () => void;
  /** An event that would have been read is no JSON object, or too long to be kept. */
  readonly onUnreadable?: ((why: Unreadable) => void) | undefined;
  /** Told of each event; its data as far as they are read. */
  readonly onEvent?: ((type: string | null, data: JsonObject | string | null) => void) | undefined;
}

export type Unreadable = 'no-json' | 'too-long';

/** Reads a streamed answer on its way to the app-server: each event is parsed once, and handed on. */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #onSignal: (signal: WireSignal) => void;
  readonly #events = new SseEvents({
    wants: isRead,
    onEvent: (type, data) => this.#see(type, data),
  });
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

  push(chunk: Uint8Array): void {
    this.#events.push(chunk);
    if (this.#events.isInLongLine) this.#options.onLife();
  }

  /** Nothing more comes: the backend broke off, or the app-server left. Without its last word an answer is not whole. */
  end(how: 'cut' | 'left'): void {
    this.#isAtEnd = true;
    this.#events.end();
    this.#report({ kind: 'answer-ended', how });
  }

  #see(type: string | null, data: string | null): void {
    if (!isKeepalive(type)) this.#options.onLife();
    if (this.#isReported) return;
    const { onEvent } = this.#options;
    if (type === null && data !== null) {
      onEvent?.(null, data);
      this.#untyped(data);
    } else if (type !== null && !isRead(type)) onEvent?.(type, null);
    else if (type === null || data === null) this.#tooLong(type);
    else {
      // What is no JSON object says nothing to codex either.
      const event = parseJsonObject(data);
      onEvent?.(type, event ?? data);
      if (event === null) this.#options.onUnreadable?.('no-json');
      else this.#read(type, event);
    }
  }

  /** The last word of a stream, or nothing that anybody can read. */
  #untyped(data: string): void {
    if (data === '[DONE]') this.#isOver = true;
    else this.#options.onUnreadable?.('no-json');
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
  #tooLong(type: string | null): void {
    this.#options.onUnreadable?.('too-long');
    if (type === 'response.completed') {
      this.#completed(null);
      return;
    }
    // A preview that is too large is left out: what came of it stands in the item.
    if (type !== null && !isContent(type)) return;
    const megabytes = MAX_EVENT_BYTES / 1024 / 1024;
    const message = `The upstream sent an event of more than ${megabytes} MB.`;
    this.#onSignal({ kind: 'refused', failure: failure('upstream_error', { message }) });
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

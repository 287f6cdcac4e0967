import { failure, type Failure } from '../../canonical/failure.ts';
import { isJsonObject, parseJsonObject, wellFormedJson, type JsonObject } from '../../kit/json.ts';
import { isContent, isRead } from '../sources/answer-events.ts';
import type { WireSignal } from '../sources/wire-signal.ts';
import { isKeepalive } from './keepalive.ts';
import { PassedBytes } from './passed-bytes.ts';
import { EventRepairs, type Repair } from './repair-event.ts';
import { MAX_EVENT_BYTES, SseEvents } from './sse-events.ts';

export interface AnswerReaderOptions {
  readonly onSignal: (signal: WireSignal) => void;
  readonly toFailure: (event: JsonObject) => Failure;
  /** The backend is alive: more than a keepalive came. */
  readonly onLife: () => void;
  /** An event that would have been read is no JSON object, or too long to be kept; the nth one of its answer. */
  readonly onUnreadable?: ((why: Unreadable, nth: number) => void) | undefined;
  /** Creates ids for calls without one. */
  readonly mintCallId: () => string;
  /** An event was not as the API has it, and was repaired. */
  readonly onRepaired?: ((repair: Repair) => void) | undefined;
  /** Told of each event; its data as far as they are read. */
  readonly onEvent?: ((type: string | null, data: JsonObject | string | null) => void) | undefined;
}

export type Unreadable = 'no-json' | 'too-long';

/**
 * Reads a streamed answer on its way to the app-server: each event is parsed once, repaired where the app-server would
 * not accept it, and handed on.
 */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #onSignal: (signal: WireSignal) => void;
  readonly #events = new SseEvents({
    wants: isRead,
    onEvent: (type, data) => this.#see(type, data),
  });
  readonly #passed = new PassedBytes((bytes) => {
    this.#replacement = null;
    this.#events.push(bytes);
    return this.#replacement;
  });
  readonly #repairs: EventRepairs;
  /** What the app-server gets instead of the event that was just read. */
  #replacement: Uint8Array | null = null;
  /** The last word was said: nothing has to come any more. */
  #isOver = false;
  #isReported = false;
  /** The backend has said that the answer failed. */
  #hasFailed = false;
  /** How many events could not be read. */
  #unreadable = 0;
  #isWithoutId = false;
  /** No more bytes will come. */
  #isAtEnd = false;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
    this.#onSignal = options.onSignal;
    this.#repairs = new EventRepairs(options.mintCallId);
  }

  /** Why the answer is not complete, if it ends here; null: it is complete, or the backend has given a reason. */
  get unfinished(): string | null {
    if (this.#isReported || this.#hasFailed) return null;
    if (this.#isWithoutId) return 'sent a response.completed event without an id';
    const count = this.#unreadable === 1 ? '1 event' : `${this.#unreadable} events`;
    const unread = this.#unreadable === 0 ? '' : ` and sent ${count} that could not be read`;
    return `ended its answer without response.completed${unread}`;
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

  /** Returns the bytes to pass on to the app-server now. */
  push(chunk: Uint8Array): Uint8Array {
    const passed = this.#passed.push(chunk);
    if (this.#events.isInLongLine) this.#options.onLife();
    return passed;
  }

  /** Nothing more comes: the backend broke off, or the app-server left. Without its last word an answer is not whole. */
  end(how: 'cut' | 'left'): Uint8Array {
    this.#isAtEnd = true;
    this.#events.end();
    this.#report({ kind: 'answer-ended', how });
    return this.#passed.rest();
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
      const event = this.#parsed(type, data);
      onEvent?.(type, event ?? data);
      if (event === null) this.#cannotRead('no-json');
      else this.#read(type, event);
    }
  }

  #parsed(type: string, data: string): JsonObject | null {
    const event = parseJsonObject(data);
    const repaired = event === null ? null : this.#repairs.repair(type, event);
    if (repaired === null) return event;
    for (const repair of repaired.repairs) this.#options.onRepaired?.(repair);
    this.#replacement = Buffer.from(`event: ${type}\ndata: ${wellFormedJson(repaired.event)}\n\n`);
    return repaired.event;
  }

  /** The last word of a stream, or nothing that anybody can read. */
  #untyped(data: string): void {
    if (data === '[DONE]') this.#isOver = true;
    else this.#cannotRead('no-json');
  }

  #cannotRead(why: Unreadable): void {
    this.#unreadable += 1;
    this.#options.onUnreadable?.(why, this.#unreadable);
  }

  #read(type: string, data: JsonObject): void {
    const response = isJsonObject(data['response']) ? data['response'] : {};
    switch (type) {
      case 'response.completed':
        // The app-server does not take an answer without an id.
        if (typeof response['id'] === 'string') this.#completed(response);
        else this.#isWithoutId = true;
        return;
      case 'response.incomplete':
        this.#report({ kind: 'answer-ended', how: 'incomplete', response });
        return;
      case 'response.failed':
      case 'error':
        this.#isOver = true;
        this.#hasFailed = true;
        this.#onSignal({ kind: 'refused', failure: this.#options.toFailure(data) });
        return;
      default:
        this.#onSignal({ kind: 'answer-said', type, data });
    }
  }

  /** Content that nobody here can read must not be missing from an answer that is called whole. */
  #tooLong(type: string | null): void {
    this.#cannotRead('too-long');
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

import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { writeJsonSteps } from '../../../kit/json/json-writer.ts';
import { atOnce, runSliced, type Sliced } from '../../../kit/async/event-loop.ts';
import { isContent, isRead } from '../../sources/answer-events.ts';
import type { UpstreamEvent } from '../../sources/upstream-event.ts';
import { isKeepalive } from './keepalive.ts';
import { LineFeeds } from './line-feeds.ts';
import { EventPassthrough } from './event-passthrough.ts';
import { readEventSteps, type BeyondLimit } from './read-event.ts';
import { EventRepairs, type Repair } from './repair-event.ts';
import { MAX_EVENT_BYTES, SseEvents } from './sse-events.ts';

export interface AnswerReaderOptions {
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  readonly toFailure: (event: JsonObject) => Failure;
  /** The backend is alive: more than a keepalive came. */
  readonly onActivity: () => void;
  /** The request's: reading a long event stops when it is aborted. */
  readonly signal: AbortSignal;
  /** An event that would have been read is no JSON object, or beyond a limit; the nth one of its answer. */
  readonly onUnreadable?: ((why: Unreadable, nth: number) => void) | undefined;
  /** Creates ids for calls without one. */
  readonly mintCallId: () => string;
  /** An event was not as the API has it, and was repaired. */
  readonly onRepaired?: ((repair: Repair) => void) | undefined;
  /** Told of each event; its data as far as they are read. */
  readonly onEvent?: ((type: string | null, data: JsonObject | string | null) => void) | undefined;
}

export type Unreadable = 'no-json' | 'too-long' | BeyondLimit;

/**
 * Reads a streamed answer on its way to the app-server: each event is parsed once, repaired where the app-server would
 * not accept it, and handed on.
 */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #onUpstreamEvent: (signal: UpstreamEvent) => void;
  readonly #events = new SseEvents({
    keepsData: isRead,
    onEvent: (type, data) => this.#arrived.push([type, data]),
  });
  /** Events that have come and have not been read, with their types. */
  #arrived: (readonly [type: string | null, data: string | null])[] = [];
  readonly #passed = new EventPassthrough((bytes) => this.#take(() => this.#events.push(bytes)));
  /** Before both readers: the app-server must see the same events as the relay. */
  readonly #lineFeeds = new LineFeeds();
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
    this.#onUpstreamEvent = options.onUpstreamEvent;
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
  get isOversized(): boolean {
    return this.#events.isOversized;
  }

  begin(): void {
    this.#onUpstreamEvent({ kind: 'answer-started' });
  }

  /**
   * Returns the bytes to pass on to the app-server now; a promise of them where an event is so long that it is read
   * in several turns of the loop. Nothing may be pushed meanwhile.
   */
  push(chunk: Uint8Array): Uint8Array | Promise<Uint8Array> {
    const reading = this.#passed.push(this.#lineFeeds.push(chunk));
    const step = reading.next();
    if (this.#events.isInLongLine) this.#options.onActivity();
    return step.done === true ? step.value : runSliced(reading, this.#options.signal);
  }

  /** Nothing more comes: the backend broke off, or the app-server left. Without its last word an answer is not whole. */
  end(how: 'cut' | 'left'): Uint8Array {
    this.#isAtEnd = true;
    this.#arrived = [];
    atOnce(this.#take(() => this.#events.end()));
    this.#report({ kind: 'answer-ended', how });
    return this.#passed.rest();
  }

  /** Reads the events that come to their end; returns what the app-server gets instead of the last of them. */
  *#take(arrive: () => void): Sliced<Uint8Array | null> {
    this.#replacement = null;
    arrive();
    for (const [type, data] of this.#arrived.splice(0)) yield* this.#see(type, data);
    return this.#replacement;
  }

  *#see(named: string | null, data: string | null): Sliced<void> {
    if (!isKeepalive(named)) this.#options.onActivity();
    if (this.#isReported) return;
    const { onEvent } = this.#options;
    if (named !== null && !isRead(named)) onEvent?.(named, null);
    else if (named === null && data === '[DONE]') {
      onEvent?.(null, data);
      this.#isOver = true;
    } else if (data === null) this.#beyond(named, 'too-long');
    else {
      const read = yield* readEventSteps(data);
      const type = named ?? (typeof read === 'string' ? null : read?.['type']);
      if (typeof read === 'string') {
        onEvent?.(named, null);
        this.#beyond(named, read);
      } else if (read === null || typeof type !== 'string') {
        // What is no JSON object says nothing to codex either.
        onEvent?.(named, data);
        this.#cannotRead('no-json');
      } else {
        const event = yield* this.#repaired(type, read);
        onEvent?.(type, event);
        if (isRead(type)) this.#read(type, event);
      }
    }
  }

  *#repaired(type: string, event: JsonObject): Sliced<JsonObject> {
    const repaired = this.#repairs.repair(type, event);
    if (repaired === null) return event;
    for (const repair of repaired.repairs) this.#options.onRepaired?.(repair);
    const written = yield* writeJsonSteps(repaired.event);
    this.#replacement = Buffer.from(`event: ${type}\ndata: ${written.join('')}\n\n`);
    return repaired.event;
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
        this.#onUpstreamEvent({ kind: 'refused', failure: this.#options.toFailure(data) });
        return;
      default:
        this.#onUpstreamEvent({ kind: 'answer-said', type, data });
    }
  }

  /** Content that nobody here can read must not be missing from an answer that is called whole. */
  #beyond(type: string | null, why: Exclude<Unreadable, 'no-json'>): void {
    this.#cannotRead(why);
    // The app-server takes it, unless it is too deep.
    if (type === 'response.completed' && why !== 'too-deep') {
      this.#completed(null);
      return;
    }
    // A preview that is too large is left out: what came of it stands in the item.
    if (type !== null && !isContent(type)) return;
    this.#onUpstreamEvent({ kind: 'refused', failure: failure('upstream_error', { message: BEYOND[why] }) });
    this.#report({ kind: 'answer-ended', how: 'cut' });
  }

  #completed(response: JsonObject | null): void {
    // Nor does it take an event whose end is missing.
    if (!this.#isAtEnd) this.#report({ kind: 'answer-ended', how: 'completed', response });
  }

  #report(signal: Extract<UpstreamEvent, { kind: 'answer-ended' }>): void {
    if (this.#isReported) return;
    this.#isOver = true;
    this.#isReported = true;
    this.#onUpstreamEvent(signal);
  }
}

const BEYOND: Readonly<Record<Exclude<Unreadable, 'no-json'>, string>> = {
  'too-long': `The upstream sent an event of more than ${MAX_EVENT_BYTES / 1024 / 1024} MB.`,
  'too-deep': 'The upstream sent an event that is nested too deeply.',
  'too-wide': 'The upstream sent an event with too many values.',
};

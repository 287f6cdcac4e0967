import { failure, type Failure } from '../../../canonical/failure/failure.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { writeJsonSteps } from '../../../kit/json/json-writer.ts';
import { atOnce, runSliced, type Sliced } from '../../../kit/async/event-loop.ts';
import { isContent, isRead } from '../../sources/answer-events.ts';
import type { UpstreamEvent } from '../../sources/source.ts';
import {
  isKeepalive,
  isLongEvent,
  isPreview,
  readEvent,
  readLongEvent,
  type BeyondLimit,
  type ReadEvent,
} from './read-event.ts';
import { EventRepairs, type Repair, type RepairedEvent } from './repair-event.ts';
import type { SplitChunk } from './stream-start.ts';
import { joinBytes, MAX_EVENT_BYTES, SseEvents, type SseEvent, type StreamPart } from './sse-events.ts';

export interface AnswerReaderOptions {
  readonly onUpstreamEvent: (signal: UpstreamEvent) => void;
  readonly toFailure: (event: JsonObject) => Failure;
  /** More than a keepalive arrived: the backend is alive. */
  readonly onActivity: () => void;
  /** Aborts the reading of a long event. */
  readonly signal: AbortSignal;
  /** Called for an event that is not a JSON object or exceeds a limit; `nth` counts them within the answer. */
  readonly onUnreadable?: ((why: UnreadableEvent, nth: number) => void) | undefined;
  /** Creates ids for calls without one. */
  readonly mintCallId: () => string;
  /** Called when a nonconforming event was repaired. */
  readonly onRepaired?: ((repair: Repair) => void) | undefined;
  /** Called for each event, with its data if it was read. */
  readonly onEvent?: ((type: string | null, data: JsonObject | string | null) => void) | undefined;
  /** Has split the start of the answer; absent: nothing was split yet. */
  readonly events?: SseEvents | undefined;
  /** The app-server gets no event of an item before its end, which is all that it acts on. */
  readonly withoutPreviews?: boolean;
}

export type UnreadableEvent = 'no-json' | 'too-long' | BeyondLimit;

/** Reads a streamed answer on its way to the app-server, and repairs events that the app-server would not accept. */
export class AnswerReader {
  readonly #options: AnswerReaderOptions;
  readonly #onUpstreamEvent: (signal: UpstreamEvent) => void;
  readonly #events: SseEvents;
  readonly #repairs: EventRepairs;
  /** The final event has arrived. */
  isOver = false;
  #isReported = false;
  /** The backend has reported that the answer failed. */
  #hasFailed = false;
  /** Number of unreadable events. */
  #unreadable = 0;
  #isWithoutId = false;
  /** No more bytes will arrive. */
  #isAtEnd = false;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
    this.#events = options.events ?? new SseEvents();
    this.#onUpstreamEvent = options.onUpstreamEvent;
    this.#repairs = new EventRepairs(options.mintCallId);
  }

  /** Why the answer is incomplete if it ends here; null if it is complete or the backend has given a reason. */
  get unfinished(): string | null {
    if (this.#isReported || this.#hasFailed) return null;
    if (this.#isWithoutId) return 'sent a response.completed event without an id';
    const count = this.#unreadable === 1 ? '1 event' : `${this.#unreadable} events`;
    const unread = this.#unreadable === 0 ? '' : ` and sent ${count} that could not be read`;
    return `ended its answer without response.completed${unread}`;
  }

  /** Whether a single event exceeds the size limit. */
  get isOversized(): boolean {
    return this.#events.isOversized;
  }

  begin(): void {
    this.#onUpstreamEvent({ kind: 'answer-started' });
  }

  /**
   * Returns the bytes to pass on to the app-server now; a promise of them if an event is so long that it is
   * read in slices. Must not be called again before the promise resolves.
   */
  push(chunk: Uint8Array | SplitChunk): Uint8Array | Promise<Uint8Array> {
    const parts = chunk instanceof Uint8Array ? this.#events.push(chunk) : chunk;
    const passed: Uint8Array[] = [];
    for (const [at, part] of parts.entries()) {
      const reading = part.event === null ? null : this.#see(part.event);
      if (reading !== null) return this.#pushSlowly(reading, parts.slice(at), passed);
      this.#pass(part, null, passed);
    }
    if (this.#events.isInLongLine) this.#options.onActivity();
    return passed.length === 0 ? NOTHING : joinBytes(passed);
  }

  /** No more bytes follow. Without its final event an answer is incomplete. */
  end(how: 'cut' | 'left'): Uint8Array {
    this.#isAtEnd = true;
    const { bytes, event } = this.#events.end();
    const reading = event === null ? null : this.#see(event);
    if (reading !== null) atOnce(reading);
    this.#report({ kind: 'answer-ended', how });
    return bytes;
  }

  /** Most events need no slices, and then no generator either. */
  #pushSlowly(
    first: Sliced<Uint8Array | null>,
    parts: readonly StreamPart[],
    passed: Uint8Array[],
  ): Uint8Array | Promise<Uint8Array> {
    const reading = this.#readParts(first, parts, passed);
    const step = reading.next();
    if (this.#events.isInLongLine) this.#options.onActivity();
    return step.done === true ? step.value : runSliced(reading, this.#options.signal);
  }

  /** The first part is being read. */
  *#readParts(
    first: Sliced<Uint8Array | null>,
    parts: readonly StreamPart[],
    passed: Uint8Array[],
  ): Sliced<Uint8Array> {
    let reading: Sliced<Uint8Array | null> | null = first;
    for (const [at, part] of parts.entries()) {
      if (at > 0) reading = part.event === null ? null : this.#see(part.event);
      this.#pass(part, reading === null ? null : yield* reading, passed);
    }
    return joinBytes(passed);
  }

  #pass({ bytes, event }: StreamPart, repaired: Uint8Array | null, passed: Uint8Array[]): void {
    const { withoutPreviews = false } = this.#options;
    // The start of an event that is too long has been passed on: so must be its end.
    const isLeftOut = withoutPreviews && event !== null && event.data !== null && isPreview(event.type);
    if (!isLeftOut) passed.push(repaired ?? bytes);
  }

  /** Null: the event was read. Else it is read in slices, which return what the app-server gets instead; null: the event itself. */
  #see({ type: named, data }: SseEvent): Sliced<Uint8Array | null> | null {
    const { onActivity, onEvent } = this.#options;
    if (!isKeepalive(named)) onActivity();
    if (this.#isReported) return null;
    if (named !== null && !isRead(named)) {
      onEvent?.(named, null);
      return null;
    }
    if (data === null) {
      this.#beyond(named, 'too-long');
      return null;
    }
    if (named === null && data === '[DONE]') {
      onEvent?.(null, data);
      this.isOver = true;
      return null;
    }
    return isLongEvent(data) ? this.#seeLong(named, data) : this.#seeRead(named, data, readEvent(data));
  }

  *#seeLong(named: string | null, data: string): Sliced<Uint8Array | null> {
    const writing = this.#seeRead(named, data, yield* readLongEvent(data));
    return writing === null ? null : yield* writing;
  }

  #seeRead(named: string | null, data: string, read: ReadEvent): Sliced<Uint8Array | null> | null {
    const { onEvent } = this.#options;
    if (typeof read === 'string') {
      onEvent?.(named, null);
      this.#beyond(named, read);
      return null;
    }
    const type = named ?? read?.['type'];
    if (read === null || typeof type !== 'string') {
      // codex ignores data that is not a JSON object.
      onEvent?.(named, data);
      this.#cannotRead('no-json');
      return null;
    }
    const repaired = this.#repairs.repair(type, read);
    if (repaired !== null) return this.#seeRepaired(named, type, repaired);
    this.#take(named, type, read);
    return null;
  }

  *#seeRepaired(named: string | null, type: string, repaired: RepairedEvent): Sliced<Uint8Array> {
    // Before it is reported: the last event ends the answer.
    const written = yield* this.#write(type, repaired);
    this.#take(named, type, repaired.event);
    return written;
  }

  #take(named: string | null, type: string, event: JsonObject): void {
    this.#options.onEvent?.(type, event);
    if (named !== null || isRead(type)) this.#read(type, event);
  }

  *#write(type: string, { event, repairs }: RepairedEvent): Sliced<Uint8Array> {
    for (const repair of repairs) this.#options.onRepaired?.(repair);
    const written = yield* writeJsonSteps(event);
    return Buffer.from(`event: ${type}\ndata: ${written.join('')}\n\n`);
  }

  #cannotRead(why: UnreadableEvent): void {
    this.#unreadable += 1;
    this.#options.onUnreadable?.(why, this.#unreadable);
  }

  #read(type: string, data: JsonObject): void {
    switch (type) {
      case 'response.completed': {
        const response = responseIn(data);
        // The app-server rejects an answer without an id.
        if (typeof response['id'] === 'string') this.#completed(response);
        else this.#isWithoutId = true;
        return;
      }
      case 'response.incomplete':
        this.#report({ kind: 'answer-ended', how: 'incomplete', response: responseIn(data) });
        return;
      case 'response.failed':
      case 'error':
        this.isOver = true;
        this.#hasFailed = true;
        this.#onUpstreamEvent({ kind: 'refused', failure: this.#options.toFailure(data) });
        return;
      default:
        this.#onUpstreamEvent({ kind: 'answer-said', type, data });
    }
  }

  /** An answer must not count as complete if content of it could not be read. */
  #beyond(type: string | null, why: Exclude<UnreadableEvent, 'no-json'>): void {
    this.#cannotRead(why);
    // The app-server accepts it, unless it is nested too deeply.
    if (type === 'response.completed' && why !== 'too-deep') {
      this.#completed(null);
      return;
    }
    // A preview that is too large is skipped: the item contains its final form.
    if (type !== null && !isContent(type)) return;
    this.#onUpstreamEvent({ kind: 'refused', failure: failure('upstream_error', { message: BEYOND[why] }) });
    this.#report({ kind: 'answer-ended', how: 'cut' });
  }

  #completed(response: JsonObject | null): void {
    // The app-server also rejects an event without its end.
    if (!this.#isAtEnd) this.#report({ kind: 'answer-ended', how: 'completed', response });
  }

  #report(signal: Extract<UpstreamEvent, { kind: 'answer-ended' }>): void {
    if (this.#isReported) return;
    this.isOver = true;
    this.#isReported = true;
    this.#onUpstreamEvent(signal);
  }
}

const NOTHING = new Uint8Array(0);

const responseIn = ({ response }: JsonObject): JsonObject => (isJsonObject(response) ? response : {});

const BEYOND: Readonly<Record<Exclude<UnreadableEvent, 'no-json'>, string>> = {
  'too-long': `The upstream sent an event of more than ${MAX_EVENT_BYTES / 1024 / 1024} MB.`,
  'too-deep': 'The upstream sent an event that is nested too deeply.',
  'too-wide': 'The upstream sent an event with too many values.',
};

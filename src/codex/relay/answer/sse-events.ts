import { parseJsonObject } from '../../../kit/json/json.ts';
import { createLineDecoder } from '../../../kit/text/line-decoder.ts';
import { LineFeeds } from './line-feeds.ts';
import { isLongEvent } from './read-event.ts';

export interface SseListener {
  /** Whether the data of events of this name is to be kept; asked only of events that have a name. */
  keepsData(type: string): boolean;
  /**
   * The type is null where neither the event's name nor its data says one. Data is null where nobody wants it,
   * or where it is too long to be kept.
   */
  onEvent(type: string | null, data: string | null): void;
}

/** Events are small, but for those that hold a whole answer. What is longer passes unread. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** No answer has an event like this. The app-server needs a minute for one, and four for one twice as long. */
const OVERSIZED_BYTES = 32 * 1024 * 1024;
const LONG_LINE_BYTES = 1024;
/** So much of a line that is too long is looked at for its type. */
const HEAD_LENGTH = 1024;
const LF = 0x0a;
const EMPTY = new Uint8Array(0);

/** Cuts a stream of bytes into server-sent events. Lines may end in LF, CRLF or CR. */
export class SseEvents {
  readonly #listener: SseListener;
  #lines = createLineDecoder();
  /** Bytes since the last line end. */
  #lineBytes = 0;
  #isLongLine = false;
  /** Bytes of a line that are not kept any more. */
  #skippedBytes = 0;
  readonly #lineFeeds = new LineFeeds();
  #name: string | null = null;
  #data: string | null = null;
  #hasData = false;

  constructor(listener: SseListener) {
    this.#listener = listener;
  }

  /** In the middle of a line that is longer than any comment: somebody is writing. */
  get isInLongLine(): boolean {
    return this.#isLongLine || this.#lineBytes > LONG_LINE_BYTES;
  }

  /** A line does not come to its end. */
  get isOversized(): boolean {
    return this.#isLongLine && this.#skippedBytes > OVERSIZED_BYTES;
  }

  push(chunk: Uint8Array): void {
    const rest = this.#behindLongLine(this.#lineFeeds.push(chunk));
    const lastEnd = rest.lastIndexOf(LF);
    this.#lineBytes = lastEnd === -1 ? this.#lineBytes + rest.length : rest.length - lastEnd - 1;
    for (const line of this.#lines.push(rest)) this.#line(line);
    if (this.#lineBytes > MAX_EVENT_BYTES) this.#giveUpLine();
  }

  /** The line gets too long: of its data only that they came is kept, and what they are. */
  #giveUpLine(): void {
    const [line = ''] = this.#lines.end();
    if (line.startsWith('data:')) {
      this.#name ??= typeOf(dataOf(line.slice(0, HEAD_LENGTH)));
      this.#hasData = true;
    }
    this.#lines = createLineDecoder();
    this.#skippedBytes = this.#lineBytes;
    this.#lineBytes = 0;
    this.#isLongLine = true;
    this.#data = null;
  }

  /** A last event without the empty line behind it counts too. */
  end(): void {
    for (const line of this.#lines.end()) this.#line(line);
    this.#dispatch();
  }

  /** What of a chunk comes after the end of a line that is too long to be kept. */
  #behindLongLine(chunk: Uint8Array): Uint8Array {
    if (!this.#isLongLine) return chunk;
    const end = chunk.indexOf(LF);
    if (end === -1) {
      this.#skippedBytes += chunk.length;
      return EMPTY;
    }
    this.#isLongLine = false;
    return chunk.subarray(end + 1);
  }

  #line(line: string): void {
    if (line === '') this.#dispatch();
    else if (line.startsWith('event:')) this.#name = nameOf(line);
    else if (line.startsWith('data:')) this.#dataLine(line);
  }

  #dataLine(line: string): void {
    const isFirst = !this.#hasData;
    this.#hasData = true;
    if (this.#name !== null && !this.#listener.keepsData(this.#name)) return;
    const text = dataOf(line);
    if (isFirst) this.#data = text;
    else if (this.#data !== null) {
      const isTooLong = this.#data.length + text.length > MAX_EVENT_BYTES;
      this.#data = isTooLong ? null : `${this.#data}\n${text}`;
    }
  }

  #dispatch(): void {
    const [name, data, hasData] = [this.#name, this.#data, this.#hasData];
    this.#name = null;
    this.#data = null;
    this.#hasData = false;
    if (hasData) this.#listener.onEvent(name ?? (data === null ? null : typeOf(data)), data);
  }
}

/** `message` is what an event is called that has no name. */
const nameOf = (line: string): string | null => {
  const name = line.slice(6).trim();
  return name === 'message' || name === '' ? null : name;
};

const dataOf = (line: string): string => line.slice(line.startsWith('data: ') ? 6 : 5);

/** For streams without `event:` lines. Most write the type first, and then not all of the data is parsed for it. */
const typeOf = (data: string): string | null => {
  const first = FIRST_TYPE.exec(data)?.[1];
  if (first !== undefined) return first;
  // Whoever parses it will see.
  if (isLongEvent(data)) return null;
  const type = parseJsonObject(data)?.['type'];
  return typeof type === 'string' ? type : null;
};

const FIRST_TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/;

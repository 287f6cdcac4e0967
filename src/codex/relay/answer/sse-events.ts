import { parseJsonObject } from '../../../kit/json/json.ts';
import { createLineDecoder } from '../../../kit/text/line-decoder.ts';
import { LineFeeds } from './line-feeds.ts';
import { isLongEvent } from './read-event.ts';

export interface SseListener {
  /** Whether to keep the data of events with this name; asked only for named events. */
  keepsData(type: string): boolean;
  /** `type` is null if neither the event's name nor its data has one. `data` is null if it is not kept or too long. */
  onEvent(type: string | null, data: string | null): void;
}

/** Events are small, except those that hold a whole answer. Longer ones pass unread. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** No answer has an event of this size. The app-server needs a minute for one, and four for one twice as long. */
const OVERSIZED_BYTES = 32 * 1024 * 1024;
const LONG_LINE_BYTES = 1024;
/** How much of an overlong line is searched for its type. */
const HEAD_LENGTH = 1024;
const LF = 0x0a;
const EMPTY = new Uint8Array(0);

/** Splits a byte stream into server-sent events. Lines may end in LF, CRLF or CR. */
export class SseEvents {
  readonly #listener: SseListener;
  #lines = createLineDecoder();
  /** Bytes since the last line end. */
  #lineBytes = 0;
  #isLongLine = false;
  /** Bytes of the line that are no longer kept. */
  #skippedBytes = 0;
  readonly #lineFeeds = new LineFeeds();
  #name: string | null = null;
  #data: string | null = null;
  #hasData = false;

  constructor(listener: SseListener) {
    this.#listener = listener;
  }

  /** Whether the current line is longer than any comment: the backend is sending. */
  get isInLongLine(): boolean {
    return this.#isLongLine || this.#lineBytes > LONG_LINE_BYTES;
  }

  /** Whether a line exceeds the size limit. */
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

  /** Drops the data of an overlong line; keeps only that it arrived, and its type. */
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

  /** Accepts a last event without its trailing empty line. */
  end(): void {
    for (const line of this.#lines.end()) this.#line(line);
    this.#dispatch();
  }

  /** The part of a chunk after the end of an overlong line. */
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

/** `message` is the default name. */
const nameOf = (line: string): string | null => {
  const name = line.slice(6).trim();
  return name === 'message' || name === '' ? null : name;
};

const dataOf = (line: string): string => line.slice(line.startsWith('data: ') ? 6 : 5);

/** For streams without `event:` lines. Most put the type first, so not all of the data has to be parsed for it. */
const typeOf = (data: string): string | null => {
  const first = FIRST_TYPE.exec(data)?.[1];
  if (first !== undefined) return first;
  // The parser of the event will find it.
  if (isLongEvent(data)) return null;
  const type = parseJsonObject(data)?.['type'];
  return typeof type === 'string' ? type : null;
};

const FIRST_TYPE = /^\s*\{\s*"type"\s*:\s*"([\w.]+)"/;

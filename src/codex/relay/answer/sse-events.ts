import { parseJsonObject } from '../../../kit/json/json.ts';
import { firstType, isLongEvent } from './read-event.ts';

/** A server-sent event with data. */
export interface SseEvent {
  /** Null if neither the event's name nor its data has one. */
  readonly type: string | null;
  /** Null: the event is too long to be read. */
  readonly data: string | null;
}

/** Bytes of an event stream, and the event that they complete. */
export interface StreamPart {
  /** All bytes of the event, unless it is too long. */
  readonly bytes: Uint8Array;
  /** Null: a comment, or a part of an event that is too long. */
  readonly event: SseEvent | null;
}

/** Events are small, except those that hold a whole answer. Longer ones pass unread. */
export const MAX_EVENT_BYTES = 16 * 1024 * 1024;
/** No answer has an event of this size. The app-server needs a minute for one, and four for one twice as long. */
const OVERSIZED_BYTES = 32 * 1024 * 1024;
const LONG_LINE_BYTES = 1024;
const LF = 0x0a;
const CR = 0x0d;
const EMPTY = new Uint8Array(0);

/**
 * Splits a byte stream into its server-sent events. The bytes of an event are held until it is complete, so that it can
 * be replaced; together the parts are the stream, byte for byte, with the lines and the start of `LineFeeds`.
 */
export class SseEvents {
  readonly #lineFeeds = new LineFeeds();
  /** The bytes of the incomplete event. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  /** Bytes since the last line end. */
  #lineBytes = 0;
  /** The start of the event was too long to be held. */
  #isLong = false;
  /** What that start was found to be. */
  #longEvent: SseEvent | null = null;

  /** Whether the current line is longer than any comment: the backend is sending. */
  isInLongLine = false;
  /** Whether a line exceeds the size limit. */
  isOversized = false;

  push(chunk: Uint8Array): readonly StreamPart[] {
    const bytes = this.#lineFeeds.push(chunk);
    const parts: StreamPart[] = [];
    let from = 0;
    let lineFrom = 0;
    for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, lineFrom)) {
      const length = this.#lineBytes + at - lineFrom;
      const isEmpty = length === 0 || (length === 1 && bytes[lineFrom] === CR);
      this.#lineBytes = 0;
      lineFrom = at + 1;
      // An empty line ends an event.
      if (!isEmpty) continue;
      this.#held.push(bytes.subarray(from, lineFrom));
      parts.push(this.end());
      from = lineFrom;
    }
    this.#lineBytes += bytes.length - lineFrom;
    this.isInLongLine = this.#lineBytes > LONG_LINE_BYTES;
    this.isOversized = this.#lineBytes > OVERSIZED_BYTES;
    if (from === bytes.length) return parts;
    this.#held.push(bytes.subarray(from));
    this.#heldBytes += bytes.length - from;
    if (this.#isLong || this.#heldBytes > MAX_EVENT_BYTES) parts.push(this.#passLong());
    return parts;
  }

  /** The rest of the stream. The last event needs no empty line. */
  end(): StreamPart {
    const bytes = this.#take();
    const event = this.#isLong ? this.#longEvent : eventIn(bytes);
    this.#isLong = false;
    return { bytes, event };
  }

  #passLong(): StreamPart {
    const bytes = this.#take();
    if (!this.#isLong) {
      const event = eventIn(bytes);
      this.#longEvent = event === null ? null : { type: event.type, data: null };
      this.#isLong = true;
    }
    return { bytes, event: null };
  }

  #take(): Uint8Array {
    const bytes = joinBytes(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return bytes;
  }
}

export const joinBytes = (pieces: readonly Uint8Array[]): Uint8Array =>
  pieces.length < 2 ? (pieces[0] ?? EMPTY) : Buffer.concat(pieces);

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Null if there is no data: comments, ids and names alone are not events. */
const eventIn = (bytes: Uint8Array): SseEvent | null => {
  const text = decoder.decode(bytes);
  let name: string | null = null;
  let data: string | null = null;
  const mayHaveCr = text.includes('\r');
  for (let from = 0, end = 0; end < text.length; from = end + 1) {
    end = text.indexOf('\n', from);
    if (end < 0) end = text.length;
    const to = mayHaveCr && end > from && text[end - 1] === '\r' && end < text.length ? end - 1 : end;
    if (text.startsWith('data:', from)) {
      const value = text.slice(text.startsWith(' ', from + 5) ? from + 6 : from + 5, to);
      data = data === null ? value : `${data}\n${value}`;
    } else if (text.startsWith('event:', from)) name = text.slice(from + 6, to).trim();
  }
  if (data === null) return null;
  // `message` is the default name.
  return { type: name === null || name === '' || name === 'message' ? typeIn(data) : name, data };
};

/** For streams without `event:` lines. */
const typeIn = (data: string): string | null => {
  const first = firstType(data);
  if (first !== null) return first;
  // The parser of the event will find it.
  if (isLongEvent(data)) return null;
  const type = parseJsonObject(data)?.['type'];
  return typeof type === 'string' ? type : null;
};

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Rewrites a CR without LF as LF and drops byte order marks at the start of an event stream. The standard allows both.
 * codex holds back an event that ends in CR, because LF may follow, so it loses the last one; after a byte order mark
 * it reads no event at all.
 */
class LineFeeds {
  /** The first bytes of the stream while they may be a byte order mark; null: decided. */
  #start: Uint8Array | null = EMPTY;
  #endedInCr = false;

  push(chunk: Uint8Array): Uint8Array {
    const bytes = this.#start === null ? chunk : this.#afterMark(Buffer.concat([this.#start, chunk]));
    const rest = this.#endedInCr && bytes[0] === LF ? bytes.subarray(1) : bytes;
    if (bytes.length > 0) this.#endedInCr = bytes.at(-1) === CR;
    if (!rest.includes(CR)) return rest;
    const text = Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength).toString('latin1');
    // At the end of a chunk it is a line end in any case: an LF that follows is dropped.
    return Buffer.from(text.replaceAll(/\r(?!\n)/g, '\n'), 'latin1');
  }

  /** There may be several: the app-server reads no event after any of them. */
  #afterMark(bytes: Buffer): Uint8Array {
    const { length } = BYTE_ORDER_MARK;
    let rest = bytes;
    while (BYTE_ORDER_MARK.equals(rest.subarray(0, length))) rest = rest.subarray(length);
    const isOpen = BYTE_ORDER_MARK.subarray(0, rest.length).equals(rest);
    this.#start = isOpen ? rest : null;
    return isOpen ? EMPTY : rest;
  }
}

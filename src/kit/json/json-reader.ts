import type { Sliced } from '../async/event-loop.ts';

/** An open list or object, or the position of the outermost value. */
class JsonFrame {
  readonly isObject: boolean;
  readonly start: number;
  /** The value built so far; null while all of it may be light. */
  made: unknown[] | Record<string, unknown> | null = null;
  /** The start of the text that is not part of `made` yet. */
  runStart: number;
  /** How many values there were before that text. */
  runValues: number;
  members = 1;
  isPastColon = false;
  /** After a heavy value only a comma or the end may follow. */
  isAfterHeavy = false;
  /** The position of the latest member's name. */
  keyStart = 0;
  keyEnd = 0;

  constructor(isObject: boolean, start: number, values: number) {
    this.isObject = isObject;
    this.start = start;
    this.runStart = start + 1;
    this.runValues = values;
  }
}

/** Sets an own property even for `__proto__`, like `JSON.parse`. */
const setOwn = (target: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
};

/**
 * Parses JSON in steps. `JSON.parse` is fastest, but blocks the event loop: up to a second for a few megabytes of
 * brackets. So the text is scanned once to find where it can be cut; light pieces are left to `JSON.parse`, and only
 * what is too heavy for one step is built here. Invalid JSON fails as it does there.
 */

export interface JsonLimits {
  readonly depth: number;
  /** Per object. Objects with many members are slow to build and to iterate. */
  readonly members: number;
  /** In total: each value takes memory, however short its text. */
  readonly values: number;
}

export const NO_LIMITS: JsonLimits = { depth: Infinity, members: Infinity, values: Infinity };

export class JsonLimitError extends Error {
  readonly limit: keyof JsonLimits;

  constructor(limit: keyof JsonLimits) {
    super(`the JSON text is beyond a limit: ${limit}`);
    this.limit = limit;
  }
}

/** The limits of one step. */
export interface StepSize {
  readonly values: number;
  /** Also of a string that is read at once. */
  readonly bytes: number;
  /** The size of the pieces of longer strings, lists and objects. */
  readonly pieceBytes: number;
}

/** V8 allocates strings above 128 KB separately, which makes pieces of that size several times as slow. */
const STEP: StepSize = { values: 2_000, bytes: 256 * 1024, pieceBytes: 32 * 1024 };

/** Throws `SyntaxError` for invalid JSON or UTF-8, and `JsonLimitError`. */
export function* readJsonSteps(
  bytes: Uint8Array,
  limits: JsonLimits = NO_LIMITS,
  step: StepSize = STEP,
): Sliced<unknown> {
  const reader = new JsonReader(bytes, limits, step);
  while (reader.advance()) yield;
  return reader.result();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The end of a longer string is found by native search, which is fast but costs something to start. */
const SHORT_STRING = 64;
/** After a native search that stopped at an escaped quote: so far without another. */
const SEARCH_GAP = 1_024;

interface LongString {
  readonly start: number;
  from: number;
  text: string;
}

class JsonReader {
  readonly #bytes: Uint8Array;
  readonly #limits: JsonLimits;
  readonly #step: StepSize;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  readonly #open: JsonFrame[] = [];
  #at = 0;
  #values = 1;
  #done: { readonly value: unknown; readonly start: number; readonly end: number } | null = null;
  /** A long string being read in parts: its start, and the start of its unread part. */
  #long: LongString | null = null;
  /** The position of the latest string. */
  #stringStart = 0;
  #stringEnd = 0;

  constructor(bytes: Uint8Array, limits: JsonLimits, step: StepSize) {
    this.#bytes = bytes;
    this.#limits = limits;
    this.#step = step;
  }

  /** Runs one step; false at the end of the text. */
  advance(): boolean {
    if (this.#long === null) this.#scan();
    else this.#readLong(this.#long);
    return this.#at < this.#bytes.length;
  }

  /** One loop with few calls: most bodies are read by nothing else. */
  #scan(): void {
    const bytes = this.#bytes;
    const open = this.#open;
    const until = Math.min(bytes.length, this.#at + this.#step.bytes);
    const maxValues = this.#values + this.#step.values;
    const shortString = Math.min(SHORT_STRING, this.#step.bytes);
    let frame = open.at(-1);
    while (this.#at < until && this.#values < maxValues) {
      const at = this.#at;
      const byte = bytes[at] ?? 0;
      switch (byte) {
        case QUOTE: {
          const near = Math.min(at + shortString, bytes.length);
          let end = at + 1;
          while (end < near && bytes[end] !== QUOTE) end += bytes[end] === BACKSLASH ? 2 : 1;
          if (end >= near) {
            // Names are never cut.
            const isName = frame !== undefined && frame.isObject && !frame.isPastColon;
            const found = this.#closingQuote(end, isName ? Infinity : at + this.#step.bytes);
            if (found === null) {
              this.#long = { start: at, from: at + 1, text: '' };
              return;
            }
            end = found;
          }
          this.#stringStart = at;
          this.#stringEnd = end + 1;
          this.#at = end + 1;
          continue;
        }
        case OPEN_BRACKET:
        case OPEN_BRACE:
          if (open.length >= this.#limits.depth) throw new JsonLimitError('depth');
          this.#count();
          frame = new JsonFrame(byte === OPEN_BRACE, at, this.#values);
          open.push(frame);
          break;
        case CLOSE_BRACKET:
        case CLOSE_BRACE:
          open.pop();
          if (frame === undefined) throw new SyntaxError('a bracket is closed that was not opened');
          // A light one is part of its parent.
          if (frame.made !== null) this.#close(frame, byte === CLOSE_BRACE);
          frame = open.at(-1);
          break;
        case COMMA:
          this.#count();
          if (frame !== undefined) this.#comma(frame);
          break;
        case COLON:
          if (frame === undefined) break;
          frame.isPastColon = true;
          frame.keyStart = this.#stringStart;
          frame.keyEnd = this.#stringEnd;
          break;
        default:
      }
      this.#at = at + 1;
    }
  }

  result(): unknown {
    if (this.#done === null) return this.#parse(0, this.#bytes.length);
    // With null in place of the outermost value, the rest must be valid JSON.
    const { value, start, end } = this.#done;
    parsed(`${this.#text(0, start)}null${this.#text(end, this.#bytes.length)}`);
    return value;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.#limits.values) throw new JsonLimitError('values');
  }

  #comma(frame: JsonFrame): void {
    if (frame.isObject) {
      frame.members += 1;
      if (frame.members > this.#limits.members) throw new JsonLimitError('members');
    }
    frame.isPastColon = false;
    const { values, pieceBytes } = this.#step;
    const isHeavy = this.#values - frame.runValues >= values || this.#at - frame.runStart >= pieceBytes;
    if (frame.isAfterHeavy || isHeavy) this.#cut(frame, this.#at);
  }

  #close(frame: JsonFrame, isBrace: boolean): void {
    if (frame.isObject !== isBrace) throw new SyntaxError('a bracket is closed by another kind');
    this.#cut(frame, this.#at);
    this.#place(frame.made, frame.start, this.#at + 1);
  }

  /** Adds a finished value to its parent. */
  #place(value: unknown, start: number, end: number): void {
    const frame = this.#open.at(-1);
    if (frame === undefined) {
      if (this.#done !== null) throw new SyntaxError('a second value');
      this.#done = { value, start, end };
      return;
    }
    if (frame.isAfterHeavy) throw new SyntaxError('no comma between two values');
    this.#append(frame, `${this.#text(frame.runStart, start)}null`, value);
    frame.runStart = end;
    frame.runValues = this.#values;
    frame.isAfterHeavy = true;
  }

  /** Parses the text of a frame up to here. */
  #cut(frame: JsonFrame, end: number): void {
    const text = this.#text(frame.runStart, end);
    if (!frame.isAfterHeavy) this.#append(frame, text);
    else if (!/^[ \t\n\r]*$/.test(text)) throw new SyntaxError('no comma after a value');
    frame.runStart = end + 1;
    frame.runValues = this.#values;
    frame.isAfterHeavy = false;
  }

  /** Adds the members or elements of a text; `last` replaces the last of them. */
  #append(frame: JsonFrame, text: string, ...last: readonly unknown[]): void {
    if (frame.isObject) {
      const members = parsed(`{${text}}`) as Record<string, unknown>;
      const made = (frame.made ??= {}) as Record<string, unknown>;
      const keys = Object.keys(members);
      if (keys.length === 0) throw new SyntaxError('a member is missing');
      const lastKey = last.length === 0 ? null : this.#parse(frame.keyStart, frame.keyEnd);
      for (const key of keys) setOwn(made, key, key === lastKey ? last[0] : members[key]);
      return;
    }
    const elements = parsed(`[${text}]`) as unknown[];
    if (elements.length === 0) throw new SyntaxError('an element is missing');
    if (last.length > 0) elements[elements.length - 1] = last[0];
    const made = (frame.made ??= []) as unknown[];
    for (const element of elements) made.push(element);
  }

  /** The end of the string that continues at `from`, or of the text; null if beyond the limit. */
  #closingQuote(from: number, limit: number): number | null {
    const bytes = this.#bytes;
    const last = Math.min(limit, bytes.length);
    let at = from;
    while (at < last) {
      const found = bytes.subarray(at, last).indexOf(QUOTE);
      if (found === -1) break;
      const quote = at + found;
      if (backslashesBefore(bytes, quote, at) % 2 === 0) return quote;
      const gap = Math.min(quote + SEARCH_GAP, last);
      at = quote + 1;
      while (at < gap && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      if (at < gap) return at;
    }
    return limit < bytes.length ? null : bytes.length;
  }

  /** Reads one part of a long string. */
  #readLong(long: LongString): void {
    const limit = long.from + this.#step.pieceBytes;
    const end = this.#closingQuote(long.from, limit);
    if (end === this.#bytes.length) throw new SyntaxError('a string has no end');
    const cut = end ?? this.#cutBefore(limit, long.from);
    long.text += parsed(`"${this.#text(long.from, cut)}"`) as string;
    long.from = cut;
    if (end === null) return;
    this.#long = null;
    this.#at = end + 1;
    this.#place(long.text, long.start, this.#at);
  }

  /** A position near `at` where a string can be cut: not inside an escape or a character. */
  #cutBefore(at: number, from: number): number {
    const bytes = this.#bytes;
    for (let escape = at - 1; escape > at - LONGEST_ESCAPE && escape >= from; escape -= 1) {
      if (bytes[escape] !== BACKSLASH) continue;
      const isEscaped = backslashesBefore(bytes, escape, from) % 2 === 1;
      const length = bytes[escape + 1] === LETTER_U ? LONGEST_ESCAPE : 2;
      if (isEscaped || escape + length <= at) break;
      // A whole escape if nothing precedes it, so that each part makes progress.
      return escape > from ? escape : escape + length;
    }
    let cut = at;
    while (((bytes[cut] ?? 0) & 0xc0) === 0x80) cut += 1;
    return cut;
  }

  #parse(start: number, end: number): unknown {
    return parsed(this.#text(start, end));
  }

  #text(start: number, end: number): string {
    // A byte order mark is skipped at the start.
    const from = start === 0 && hasByteOrderMark(this.#bytes) ? 3 : start;
    try {
      return this.#decoder.decode(this.#bytes.subarray(from, Math.max(from, end)));
    } catch (error) {
      throw new SyntaxError('not UTF-8', { cause: error });
    }
  }
}

const LETTER_U = 0x75;
/** `\\u00e9` */
const LONGEST_ESCAPE = 6;

const backslashesBefore = (bytes: Uint8Array, at: number, from: number): number => {
  let first = at;
  while (first > from && bytes[first - 1] === BACKSLASH) first -= 1;
  return at - first;
};

const parsed = (text: string): unknown => JSON.parse(text) as unknown;

const hasByteOrderMark = (bytes: Uint8Array): boolean =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

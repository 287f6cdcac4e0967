import { isJsonObject, wellFormedJson } from './json.ts';
import type { Sliced } from '../async/event-loop.ts';

/** Approximate characters per step. V8 allocates strings above 128 KB separately, which is slow. */
const STEP_CHARS = 32 * 1024;
/** The cost of a value besides its text. */
const VALUE_CHARS = 4;

/** `JSON.stringify` is recursive: with fewer lists and objects than this, it cannot overflow the stack. */
const MAX_PLAIN_OBJECTS = 1_000;

/** Whether a value is too heavy for `JSON.stringify`: roughly longer than this, or possibly nested too deeply. */
export const isHeavy = (value: unknown, chars: number): boolean =>
  roomAfter(value, chars, MAX_PLAIN_OBJECTS) < 0;

/** Whether the JSON of a value is roughly longer than this. Stops at the limit. */
export const isLongerThan = (value: unknown, chars: number): boolean => roomAfter(value, chars, Infinity) < 0;

/** How many of so many characters the JSON of a value leaves, roughly; negative if it exceeds them. */
const roomAfter = (value: unknown, chars: number, maxObjects: number): number => {
  if (typeof value === 'string') return chars - value.length;
  let room = chars;
  let objects = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    room -= typeof one === 'string' ? one.length : VALUE_CHARS;
    if (room < 0) return -1;
    if (typeof one !== 'object' || one === null) continue;
    objects += 1;
    if (objects > maxObjects) return -1;
    if (Array.isArray(one)) {
      room -= one.length;
      if (room < 0) return -1;
      for (const element of one as readonly unknown[]) open.push(element);
    } else {
      for (const key in one) {
        if (!Object.hasOwn(one, key)) continue;
        room -= key.length;
        if (room < 0) return -1;
        open.push((one as Readonly<Record<string, unknown>>)[key]);
      }
    }
  }
  return room;
};

/**
 * Serialises JSON in steps to consecutive pieces of text, equal to `wellFormedJson` for values that came from JSON. A
 * value of many megabytes would block the event loop.
 */
export function* writeJsonSteps(value: unknown, stepChars = STEP_CHARS): Sliced<readonly string[]> {
  const writer = new JsonWriter(stepChars);
  yield* writer.write(value);
  return writer.end();
}

/** A list or object being written. */
interface OpenValue {
  readonly close: ']' | '}';
  /** Null: the elements of a list have no names. */
  readonly names: readonly string[] | null;
  readonly values: readonly unknown[];
  /** How many of them are written. */
  at: number;
}

class JsonWriter {
  readonly #stepChars: number;
  readonly #pieces: string[] = [];
  /** Short texts that are not a piece yet. */
  #piece = '';

  constructor(stepChars: number) {
    this.#stepChars = stepChars;
  }

  /** Iterative: a value may be nested deeper than the call stack. */
  *write(root: unknown): Sliced<void> {
    const open: OpenValue[] = [];
    yield* this.#value(root, open);
    for (let innermost = open.at(-1); innermost !== undefined; innermost = open.at(-1)) {
      const { names, values, close, at } = innermost;
      if (at === values.length) {
        this.#add(close);
        open.pop();
        continue;
      }
      if (at > 0) this.#add(',');
      const end = names === null ? this.#lightUntil(values, at) : at;
      if (end > at) {
        innermost.at = end;
        this.#add(wellFormedJson(values.slice(at, end)).slice(1, -1));
        yield;
        continue;
      }
      innermost.at = at + 1;
      if (names !== null) this.#add(`${wellFormedJson(names[at])}:`);
      yield* this.#value(values[at], open, names === null);
    }
  }

  end(): readonly string[] {
    this.#flush();
    return this.#pieces;
  }

  *#value(value: unknown, open: OpenValue[], isKnownHeavy = false): Sliced<void> {
    const isSplit = isKnownHeavy || isHeavy(value, this.#stepChars);
    if (isSplit && typeof value === 'string') yield* this.#string(value);
    else if (isSplit && Array.isArray(value)) {
      this.#add('[');
      open.push({ close: ']', names: null, values: value, at: 0 });
    } else if (isSplit && isJsonObject(value)) {
      this.#add('{');
      const names = Object.keys(value).filter((name) => value[name] !== undefined);
      open.push({ close: '}', names, values: names.map((name) => value[name]), at: 0 });
    } else this.#add(value === undefined ? 'null' : wellFormedJson(value));
    yield;
  }

  /** The end of the elements that together are light enough for one step. */
  #lightUntil(values: readonly unknown[], from: number): number {
    let room = this.#stepChars;
    let end = from;
    for (; end < values.length; end += 1) {
      room = roomAfter(values[end], room, MAX_PLAIN_OBJECTS) - VALUE_CHARS;
      if (room < 0) break;
    }
    return end;
  }

  *#string(text: string): Sliced<void> {
    this.#add('"');
    for (let at = 0; at < text.length;) {
      const end = at + this.#stepChars;
      // Keep surrogate pairs together.
      const next = isFirstHalf(text.charCodeAt(end - 1)) ? end + 1 : end;
      this.#add(wellFormedJson(text.slice(at, next)).slice(1, -1));
      at = next;
      yield;
    }
    this.#add('"');
  }

  /** Longer texts are pieces of their own: joining them would copy them. */
  #add(text: string): void {
    if (text.length < SHORT_CHARS) {
      this.#piece += text;
      if (this.#piece.length >= this.#stepChars) this.#flush();
      return;
    }
    this.#flush();
    this.#pieces.push(text);
  }

  #flush(): void {
    if (this.#piece !== '') this.#pieces.push(this.#piece);
    this.#piece = '';
  }
}

const SHORT_CHARS = 1_024;

const isFirstHalf = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** Serialises JSON to bytes in steps. */
export function* jsonBytesSteps(value: unknown): Sliced<Uint8Array<ArrayBuffer>> {
  const pieces = yield* writeJsonSteps(value);
  const encoder = new TextEncoder();
  let charsLeft = pieces.reduce((sum, piece) => sum + piece.length, 0);
  // Most texts have few characters of several bytes.
  let whole = new Uint8Array(charsLeft + Math.ceil(charsLeft / SPARE) + LONGEST_CHARACTER);
  let at = 0;
  for (const piece of pieces) {
    for (let rest = piece; rest !== '';) {
      const { read, written } = encoder.encodeInto(rest, whole.subarray(at));
      charsLeft -= read;
      at += written;
      rest = rest.slice(read);
      // The text so far needed more bytes than expected, and so will the rest.
      if (rest !== '') whole = yield* enlarged(whole, at, at + charsLeft * 2 + LONGEST_CHARACTER);
    }
    yield;
  }
  return whole.subarray(0, at);
}

const SPARE = 16;
const LONGEST_CHARACTER = 4;

function* enlarged(bytes: Uint8Array, used: number, length: number): Sliced<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(length);
  for (let at = 0; at < used; at += COPY_BYTES) {
    copy.set(bytes.subarray(at, Math.min(used, at + COPY_BYTES)), at);
    yield;
  }
  return copy;
}

const COPY_BYTES = 256 * 1024;

/** Concatenates bytes in steps, because writing to fresh memory is slow. */
export function* joinSteps(parts: readonly Uint8Array[]): Sliced<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
    yield;
  }
  return whole;
}

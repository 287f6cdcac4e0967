import { isJsonObject, type Json } from '../../kit/json/json.ts';

/** The beginning of the arguments, complete and incomplete. */
const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/;
const MAY_BEGIN = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;
const LONGEST_BEGINNING = 200;

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * Turns the arguments of a function that replaces a custom tool into the tool's input, delta by delta. Arguments are
 * `{"input":"…"}`: the string is decoded as it comes. Others are decoded at their end: an object may have more members,
 * and text that is not such an object is itself the input.
 */
export class InputOfArguments {
  #state: 'before' | 'inside' | 'after' | 'other' = 'before';
  /** The text that was not decoded. */
  #rest = '';
  /** The first half of a surrogate pair. */
  #half = '';
  /** The input so far. */
  text = '';

  take(delta: string): string {
    if (this.#state === 'after') return '';
    this.#rest += delta;
    if (this.#state === 'before') this.#begin();
    return this.#state === 'inside' ? this.#add(this.#decode()) : '';
  }

  /** Ends the arguments; returns the rest of the input. */
  end(): string {
    const rest = this.#state === 'before' || this.#state === 'other' ? inputIn(this.#rest) : this.#rest;
    const left = this.#half + (this.#state === 'after' ? '' : rest);
    this.text += left;
    this.#half = '';
    this.#rest = '';
    this.#state = 'after';
    return left;
  }

  #begin(): void {
    const [beginning] = BEGINNING.exec(this.#rest) ?? [];
    if (beginning !== undefined) {
      this.#state = 'inside';
      this.#rest = this.#rest.slice(beginning.length);
    } else if (this.#rest.length > LONGEST_BEGINNING || !MAY_BEGIN.test(this.#rest)) this.#state = 'other';
  }

  /** Decodes up to the end of the string, or to an incomplete escape. */
  #decode(): string {
    const rest = this.#rest;
    const end = endOfString(rest);
    const isWhole = rest.charCodeAt(end) === QUOTE;
    if (isWhole) this.#state = 'after';
    this.#rest = isWhole ? '' : rest.slice(end);
    return decoded(rest.slice(0, end));
  }

  /** Holds back half a surrogate pair. */
  #add(decoded: string): string {
    const text = this.#half + decoded;
    const isHalf = /[\uD800-\uDBFF]$/.test(text);
    this.#half = isHalf ? text.slice(-1) : '';
    const whole = isHalf ? text.slice(0, -1) : text;
    this.text += whole;
    return whole;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The end of the string, or the beginning of an incomplete escape. */
const endOfString = (text: string): number => {
  let at = 0;
  while (at < text.length) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) return at;
    const length = char === BACKSLASH ? (text[at + 1] === 'u' ? 6 : 2) : 1;
    if (at + length > text.length) return at;
    at += length;
  }
  return at;
};

/** `JSON.parse` is many times faster, but accepts no invalid escapes. */
const decoded = (text: string): string => {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text.replaceAll(/\\(?:u[^]{4}|[^])/g, unescaped);
  }
};

/** Decodes an escape; an invalid one stays as it is. */
const unescaped = (escape: string): string => {
  const mark = escape[1] ?? '';
  if (mark === 'u') {
    const digits = escape.slice(2);
    return /^[\da-f]{4}$/i.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : escape;
  }
  if (mark === '"' || mark === '\\' || mark === '/') return mark;
  return ESCAPES[mark] ?? escape;
};

const inputIn = (written: string): string => {
  let value: Json;
  try {
    value = JSON.parse(written) as Json;
  } catch {
    return written;
  }
  if (!isJsonObject(value)) return written;
  const { input, ...others } = value;
  if (typeof input === 'string') return input;
  return input === undefined && Object.keys(others).length === 0 ? '' : written;
};

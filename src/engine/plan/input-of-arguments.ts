import { isJsonObject, type Json } from '../../kit/json/json.ts';

/** How the arguments begin, as far as they have come. */
const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/;
const MAY_BEGIN = /^\s*(?:\{\s*(?:"(?:i(?:n(?:p(?:u(?:t(?:"\s*(?::\s*)?)?)?)?)?)?)?)?)?$/;
/** Whoever writes more spaces than this in front of the input means something else. */
const LONGEST_BEGINNING = 200;

const ESCAPES: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

/**
 * The arguments of a function that stands for a custom tool → the tool's input, as they come. Arguments
 * are `{"input":"…"}`: the string is decoded as it is written, and what comes behind it has no place.
 * Anything else is waited for: an object may have its `input` elsewhere, and what is no such object is
 * itself the input, because a model that was told of a text may have written just that.
 */
export class InputOfArguments {
  #state: 'before' | 'inside' | 'behind' | 'other' = 'before';
  /** What has come and was not decoded. */
  #rest = '';
  /** The first half of a character. */
  #half = '';
  #text = '';

  /** All of the input so far. */
  get text(): string {
    return this.#text;
  }

  take(delta: string): string {
    if (this.#state === 'behind') return '';
    this.#rest += delta;
    if (this.#state === 'before') this.#begin();
    return this.#state === 'inside' ? this.#say(this.#decode()) : '';
  }

  /** Nothing more comes: what of the input has not been said. */
  end(): string {
    const rest = this.#state === 'before' || this.#state === 'other' ? inputIn(this.#rest) : this.#rest;
    const left = this.#half + (this.#state === 'behind' ? '' : rest);
    this.#text += left;
    this.#half = '';
    this.#rest = '';
    this.#state = 'behind';
    return left;
  }

  #begin(): void {
    const [beginning] = BEGINNING.exec(this.#rest) ?? [];
    if (beginning !== undefined) {
      this.#state = 'inside';
      this.#rest = this.#rest.slice(beginning.length);
    } else if (this.#rest.length > LONGEST_BEGINNING || !MAY_BEGIN.test(this.#rest)) this.#state = 'other';
  }

  /** Up to the end of the string, or to an escape that is not whole. */
  #decode(): string {
    const rest = this.#rest;
    const end = endOfString(rest);
    const isWhole = rest.charCodeAt(end) === QUOTE;
    if (isWhole) this.#state = 'behind';
    this.#rest = isWhole ? '' : rest.slice(end);
    return decoded(rest.slice(0, end));
  }

  /** A character is said whole. */
  #say(decoded: string): string {
    const said = this.#half + decoded;
    const isHalf = /[\uD800-\uDBFF]$/.test(said);
    this.#half = isHalf ? said.slice(-1) : '';
    const whole = isHalf ? said.slice(0, -1) : said;
    this.#text += whole;
    return whole;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where the string ends, or an escape that is not whole begins. */
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

/** The parser of the runtime is many times faster, and a whole input may come at once; but it takes no mistakes. */
const decoded = (text: string): string => {
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`) as string;
  } catch {
    return text.replaceAll(/\\(?:u[^]{4}|[^])/g, unescaped);
  }
};

/** What is no escape of JSON's is what the model wrote. */
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

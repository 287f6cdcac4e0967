import type { ToolCall } from '../../canonical/request/item.ts';
import { parseJsonObject, type Json } from '../../kit/json/json.ts';
import { writeJsonSteps } from '../../kit/json/json-writer.ts';
import { atOnce } from '../../kit/async/event-loop.ts';

/** Why a call has no block. */
export type NoBlockReason =
  /** It is a custom tool or in a namespace. */
  | 'kind'
  | 'too_long'
  /** The arguments are not a JSON object. */
  | 'arguments'
  /** A name is not a valid tag, or is reserved. */
  | 'name'
  /** A value would be parsed as a different value. */
  | 'value';

type BlockResult = { readonly block: string } | { readonly reason: NoBlockReason };

export const BLOCK_OPENING = '<use_tool>';
const BLOCK_CLOSING = '</use_tool>';

/** Longer arguments are not parsed, because that would block the event loop. */
export const MAX_ARGUMENTS_CHARS = 1024 * 1024;

const SAFE_NAME = /^[A-Za-z_][\w.-]{0,127}$/;
/** These tags end the block or name its tool; `__proto__` is a special property. */
const RESERVED_NAMES = new Set(['name', 'use_tool', '__proto__']);

/** Writes a call in Obsidian Copilot's format. It has no escaping: a call that would be misread gets no block. */
export const writeBlock = ({ tool, name, namespace, input }: ToolCall): BlockResult => {
  if (tool !== 'function' || namespace !== undefined) return { reason: 'kind' };
  if (input.length > MAX_ARGUMENTS_CHARS) return { reason: 'too_long' };
  const args = input.trim() === '' ? {} : parseJsonObject(input);
  if (args === null) return { reason: 'arguments' };
  if (!SAFE_NAME.test(name)) return { reason: 'name' };
  const lines = [`<name>${name}</name>`];
  for (const [key, value] of Object.entries(args)) {
    if (!SAFE_NAME.test(key) || RESERVED_NAMES.has(key)) return { reason: 'name' };
    const written = value === undefined ? null : writeValue(value);
    if (written === null) return { reason: 'value' };
    lines.push(`<${key}>${written}</${key}>`);
  }
  return { block: [BLOCK_OPENING, ...lines, BLOCK_CLOSING].join('\n') };
};

/** Writes a value; null if it would be parsed differently. */
const writeValue = (value: Json): string | null => {
  if (typeof value === 'string') return isReadVerbatim(value) ? value : null;
  // The format has only text and JSON; models write numbers as text.
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === null ? null : writeJson(value);
};

/** Parsing trims spaces, turns tags into lists or objects, and parses JSON. */
const isReadVerbatim = (text: string): boolean =>
  text.trim() === text && !text.includes('</') && !(looksLikeJson(text) && isJson(text));

const looksLikeJson = (text: string): boolean =>
  (text.startsWith('[') && text.endsWith(']')) || (text.startsWith('{') && text.endsWith('}'));

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** In JSON, angle brackets occur only in strings, so they can be escaped. Returns null if the value is nested too deeply. */
const writeJson = (value: Json): string | null => {
  try {
    return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

/** A call from a block. */
interface BlockCall {
  readonly name: string;
  /** JSON. */
  readonly input: string;
}

/** Elements nested deeper stay text. */
const MAX_DEPTH = 8;

const NAME_OPENING = '<name>';
const NAME_CLOSING = '</name>';

/** Parses the content of a `<use_tool>` block; null if it names no tool. */
export const readBlock = (inner: string): BlockCall | null => {
  const from = inner.indexOf(NAME_OPENING);
  const to = from === -1 ? -1 : inner.indexOf(NAME_CLOSING, from);
  if (to === -1) return null;
  const name = inner.slice(from + NAME_OPENING.length, to).trim();
  const rest = inner.slice(0, from) + inner.slice(to + NAME_CLOSING.length);
  if (name === '') return null;
  // JSON in an element may be nested too deeply for JSON.stringify.
  return { name, input: atOnce(writeJsonSteps(objectOf(elementsIn(rest), MAX_DEPTH))).join('') };
};

interface Element {
  readonly tag: string;
  readonly text: string;
}

/** The object has a null prototype, so that names such as `__proto__` are ordinary keys. */
const objectOf = (elements: readonly Element[], depth: number): Json => {
  const object = Object.create(null) as Record<string, Json>;
  for (const { tag, text } of elements) object[tag] = readValue(text, depth);
  return object;
};

/** `<item>` elements become a list, other elements an object, JSON is parsed, and everything else is text. */
const readValue = (text: string, depth: number): Json => {
  if (!hasTags(text)) return looksLikeJson(text) ? parsed(text) : text;
  if (depth === 0) return text;
  const items = elementsIn(text, 'item');
  if (items.length > 0) {
    return items.map((item) => readValue(item.text.replaceAll('<item>', '').trim(), depth - 1));
  }
  const elements = elementsIn(text);
  return elements.length > 0 ? objectOf(elements, depth - 1) : text;
};

const hasTags = (text: string): boolean => {
  const first = text.indexOf('<');
  return first !== -1 && text.includes('>', first + 2);
};

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

const TAG = /<(\/?)([A-Za-z_][\w.-]{0,127})>/g;

/**
 * The elements of a text: an opening tag, and everything up to the next matching closing tag. All tags are found
 * first, so that many unclosed tags do not cause quadratic time.
 */
const elementsIn = (text: string, only?: string): readonly Element[] => {
  const tags = [...text.matchAll(TAG)].map((found) => ({
    isClosing: found[1] === '/',
    tag: found[2] ?? '',
    from: found.index,
    to: found.index + found[0].length,
  }));
  const closings = new Map<string, number[]>();
  for (const { isClosing, tag, from } of tags.toReversed()) {
    if (!isClosing) continue;
    const places = closings.get(tag) ?? [];
    places.push(from);
    closings.set(tag, places);
  }
  const elements: Element[] = [];
  let end = 0;
  for (const { isClosing, tag, from, to } of tags) {
    if (isClosing || from < end || (only !== undefined && tag !== only)) continue;
    const closing = nextOf(closings.get(tag) ?? [], to);
    if (closing === null) continue;
    elements.push({ tag, text: text.slice(to, closing).trim() });
    end = closing;
  }
  return elements;
};

/** The first position at or after another one. Drops earlier positions; the list is in reverse order. */
const nextOf = (places: number[], after: number): number | null => {
  for (let place = places.at(-1); place !== undefined; place = places.at(-1)) {
    if (place >= after) return place;
    places.pop();
  }
  return null;
};

/** The start or end of a `<use_tool>` block. `at` is the index in the delta, negative if the tag began in an earlier delta. */
type BlockMark =
  | { readonly kind: 'opened'; readonly at: number }
  /** `inner` is the text in the block; null if it is too long. */
  | { readonly kind: 'closed'; readonly at: number; readonly inner: string | null };

/** A longer block is not read as a call. */
const MAX_INNER_CHARS = 1024 * 1024;

/** Finds blocks in streamed text. Buffers only a possible start of a tag and the text of an open block. */
export class BlockScan {
  /** The end of the text so far, if it may be the start of a tag. */
  #carry = '';
  #inner: string | null = null;
  #isInside = false;

  /** Whether a block is open. */
  get isInside(): boolean {
    return this.#isInside;
  }

  read(delta: string): readonly BlockMark[] {
    const marks: BlockMark[] = [];
    const text = this.#carry + delta;
    const before = this.#carry.length;
    let from = 0;
    for (;;) {
      const tag: string = this.#isInside ? BLOCK_CLOSING : BLOCK_OPENING;
      const at = text.indexOf(tag, from);
      const end = at === -1 ? text.length - overlap(text, from, tag) : at;
      if (this.#isInside) this.#keep(text.slice(from, end));
      if (at === -1) {
        this.#carry = text.slice(end);
        return marks;
      }
      from = at + tag.length;
      if (this.#isInside) marks.push({ kind: 'closed', at: from - before, inner: this.#inner });
      else marks.push({ kind: 'opened', at: at - before });
      this.#isInside = !this.#isInside;
      this.#inner = '';
    }
  }

  /** Ends the text. Returns the content of an unclosed block, or null. */
  end(): string | null {
    if (!this.#isInside) return null;
    this.#keep(this.#carry);
    this.#isInside = false;
    this.#carry = '';
    return this.#inner;
  }

  #keep(more: string): void {
    if (this.#inner === null) return;
    this.#inner = this.#inner.length + more.length > MAX_INNER_CHARS ? null : this.#inner + more;
  }
}

/** The length of the longest end of the text that is a prefix of the tag. */
const overlap = (text: string, from: number, tag: string): number => {
  for (let length = Math.min(tag.length - 1, text.length - from); length > 0; length -= 1) {
    if (tag.startsWith(text.slice(text.length - length))) return length;
  }
  return 0;
};

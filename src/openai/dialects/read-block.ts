import { writeJsonSteps } from '../../kit/json/json-writer.ts';
import { atOnce } from '../../kit/async/event-loop.ts';
import type { Json } from '../../kit/json/json.ts';
import { looksLikeJson } from './use-tool-block.ts';

/** A call from a block. */
export interface BlockCall {
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

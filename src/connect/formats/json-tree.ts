import { placeAt } from '../../kit/json/json-place.ts';
import type { Json } from '../../kit/json/json.ts';
import { Unreadable } from './format.ts';

/** A value with its place in the text: `text.slice(start, end)`. */
export interface JsonNode {
  readonly start: number;
  readonly end: number;
  readonly value: Json;
  /** The members of an object or the items of a list; null for other values. */
  readonly entries: readonly JsonEntry[] | null;
}

export interface JsonEntry {
  /** Null for items of lists. */
  readonly key: string | null;
  /** The place of the key, or of the item. */
  readonly start: number;
  readonly node: JsonNode;
  /** The place of the comma that follows, or null. */
  readonly comma: number | null;
}

const MAX_DEPTH = 100;

const BLANK = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/y;
const STRING = /"(?:[^"\\\n\r]|\\.)*"/y;
const SCALAR = /(?:true|false|null|-?\d[\d.eE+-]*)(?![\w.])/y;

/** Parses JSON with comments and trailing commas. Null: there is no value in the text. */
export const readJsonTree = (text: string): JsonNode | null => {
  const reader = new TreeReader(text);
  return reader.readAll();
};

class TreeReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readAll(): JsonNode | null {
    this.#skipBlank();
    if (this.#at === this.#text.length) return null;
    const root = this.#readValue(0);
    this.#skipBlank();
    if (this.#at < this.#text.length) throw this.#problem('something follows the value');
    return root;
  }

  #readValue(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw this.#problem('it is nested too deeply');
    const first = this.#text[this.#at];
    if (first === '{') return this.#readContainer('}', depth);
    if (first === '[') return this.#readContainer(']', depth);
    const start = this.#at;
    const value = this.#readScalar();
    return { start, end: this.#at, value, entries: null };
  }

  #readScalar(): Json {
    const start = this.#at;
    const source = this.#take(STRING) ?? this.#take(SCALAR);
    if (source === null) throw this.#problem('a value is expected');
    try {
      return JSON.parse(source) as Json;
    } catch {
      throw this.#problem('the value is invalid', start);
    }
  }

  #readContainer(close: '}' | ']', depth: number): JsonNode {
    const start = this.#at;
    this.#at += 1;
    const entries: JsonEntry[] = [];
    const keys = new Set<string>();
    for (;;) {
      this.#skipBlank();
      if (this.#text[this.#at] === close) break;
      if (entries.length > 0 && entries.at(-1)?.comma === null)
        throw this.#problem(`"," or "${close}" is expected`);
      const at = this.#at;
      const key = close === '}' ? this.#readKey(keys) : null;
      const node = this.#readValue(depth + 1);
      this.#skipBlank();
      const comma = this.#text[this.#at] === ',' ? this.#at : null;
      if (comma !== null) this.#at += 1;
      entries.push({ key, start: at, node, comma });
    }
    this.#at += 1;
    const value =
      close === ']'
        ? entries.map(({ node }) => node.value)
        : Object.fromEntries(entries.map(({ key, node }) => [key, node.value]));
    return { start, end: this.#at, value, entries };
  }

  #readKey(keys: Set<string>): string {
    const start = this.#at;
    const source = this.#take(STRING);
    if (source === null) throw this.#problem('a key in double quotes is expected');
    this.#at = start;
    const key = this.#readScalar() as string;
    if (keys.has(key)) throw this.#problem('a key is repeated', start);
    keys.add(key);
    this.#skipBlank();
    if (this.#text[this.#at] !== ':') throw this.#problem('":" is expected');
    this.#at += 1;
    this.#skipBlank();
    return key;
  }

  #skipBlank(): void {
    this.#take(BLANK);
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }

  #problem(what: string, at = this.#at): Unreadable {
    const { line, column } = placeAt(this.#text, at);
    return new Unreadable(`line ${line}, column ${column}: ${what}`);
  }
}

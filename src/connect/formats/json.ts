import { isJsonObject, type Json } from '../../kit/json/json.ts';
import {
  CannotEdit,
  isSame,
  lineAround,
  lineBreakOf,
  shownPath,
  UnreadableFile,
  type Format,
  type KeyPath,
} from './format.ts';
import { placeAt } from '../../kit/json/json-place.ts';

/** JSON, also with comments and trailing commas. */
export const json: Format = {
  read(text) {
    const value = readJsonTree(text)?.value ?? {};
    if (!isJsonObject(value)) throw new UnreadableFile('it does not contain an object');
    return value;
  },
  set(text, path, value) {
    const whole = withRoot(text);
    const { node, depth, rest } = find(whole, path);
    const [key, ...inner] = rest;
    if (key === undefined) return replaced(whole, node, value);
    if (!isJsonObject(node.value))
      throw new CannotEdit(`${shownPath(path.slice(0, depth))} is not an object`);
    return inserted(whole, node, key, nested(inner, value));
  },
  remove(text, path) {
    const parent = nodeAt(text, path.slice(0, -1));
    return cut(text, parent, parent.entries?.findIndex(({ key }) => key === path.at(-1)) ?? -1);
  },
  append(text, path, item) {
    const { node, rest } = find(withRoot(text), path);
    if (rest.length > 0) return json.set(text, path, [item]);
    if (!Array.isArray(node.value)) throw new CannotEdit(`${shownPath(path)} is not a list`);
    return inserted(text, node, null, item);
  },
  removeItem(text, path, item) {
    const list = nodeAt(text, path);
    return cut(text, list, list.entries?.findIndex(({ node }) => isSame(node.value, item)) ?? -1);
  },
  print: (value) => `${JSON.stringify(value, null, 2)}\n`,
};

const withRoot = (text: string): string =>
  readJsonTree(text) === null ? `${text}{}${lineBreakOf(text)}` : text;

const rootOf = (text: string): JsonNode => {
  const root = readJsonTree(text);
  if (root === null) throw new Error('the text has no value');
  return root;
};

/** The deepest value on the path, and the keys that are missing below it. */
const find = (
  text: string,
  path: KeyPath,
): { readonly node: JsonNode; readonly depth: number; readonly rest: KeyPath } => {
  let node = rootOf(text);
  let depth = 0;
  for (const key of path) {
    const next = node.entries?.find((entry) => entry.key === key);
    if (next === undefined) break;
    node = next.node;
    depth += 1;
  }
  return { node, depth, rest: path.slice(depth) };
};

const nodeAt = (text: string, path: KeyPath): JsonNode => {
  const { node, rest } = find(text, path);
  if (rest.length > 0) throw new Error(`${shownPath(path)} is missing`);
  return node;
};

const nested = (path: KeyPath, value: Json): Json =>
  path.reduceRight<Json>((inner, key) => ({ [key]: inner }), value);

const splice = (text: string, start: number, end: number, by: string): string =>
  text.slice(0, start) + by + text.slice(end);

/** The spaces or tabs at the beginning of the line. */
const indentAt = (text: string, at: number): string =>
  /^[ \t]*/.exec(text.slice(lineAround(text, at).start))?.[0] ?? '';

/** One level of indentation in this text. */
const levelOf = (text: string): string => /^([ \t]+)["[{]/m.exec(text)?.[1] ?? '  ';

const printed = (text: string, value: Json, indent: string): string =>
  JSON.stringify(value, null, levelOf(text)).replaceAll('\n', `${lineBreakOf(text)}${indent}`);

const replaced = (text: string, { start, end }: JsonNode, value: Json): string =>
  splice(text, start, end, printed(text, value, indentAt(text, start)));

/** Adds an entry after the last one. */
const inserted = (text: string, container: JsonNode, key: string | null, value: Json): string => {
  const { start, end, entries } = container;
  const name = key === null ? '' : `${JSON.stringify(key)}: `;
  const last = entries?.at(-1);
  const inside = text.slice(start + 1, end - 1);
  if (last !== undefined && !inside.includes('\n')) {
    const at = last.comma === null ? last.node.end : last.comma + 1;
    return splice(text, at, at, `${last.comma === null ? ',' : ''} ${name}${JSON.stringify(value)}`);
  }
  const lineBreak = lineBreakOf(text);
  const outer = indentAt(text, start);
  if (last === undefined) {
    const indent = `${outer}${levelOf(text)}`;
    const blank = start + 1 + inside.trimEnd().length;
    const entry = `${lineBreak}${indent}${name}${printed(text, value, indent)}${lineBreak}${outer}`;
    return splice(text, blank, end - 1, entry);
  }
  const indent = isFirstOfLine(text, last.start) ? indentAt(text, last.start) : `${outer}${levelOf(text)}`;
  const at = endOfRemarks(text, last.comma === null ? last.node.end : last.comma + 1);
  const longer = splice(text, at, at, `${lineBreak}${indent}${name}${printed(text, value, indent)}`);
  return last.comma === null ? splice(longer, last.node.end, last.node.end, ',') : longer;
};

const isFirstOfLine = (text: string, at: number): boolean =>
  text.slice(lineAround(text, at).start, at).trim() === '';

const REMARKS = /[ \t]*(?:\/\*[^\n]*?\*\/[ \t]*)*(?:\/\/[^\r\n]*)?/y;

/** The place after the comments that follow on the same line. */
const endOfRemarks = (text: string, at: number): number => {
  REMARKS.lastIndex = at;
  return at + (REMARKS.exec(text)?.[0].trimEnd().length ?? 0);
};

/** Removes an entry and one comma. Comments stay. */
const cut = (text: string, { entries }: JsonNode, index: number): string => {
  const entry = entries?.[index];
  if (entry === undefined) throw new Error('the entry is missing');
  const before = entries?.[index - 1];
  const without = withoutEntry(text, entry);
  if (entry.comma !== null || before === undefined || before.comma === null) return without;
  return splice(without, before.comma, before.comma + 1, '');
};

const withoutEntry = (text: string, { start, node, comma }: JsonEntry): string => {
  // A comment between the value and its comma stays.
  const between = comma === null ? '' : text.slice(node.end, comma);
  const remark = between.trim() === '' ? '' : between;
  const end = comma === null ? node.end : comma + 1;
  const line = lineAround(text, start);
  const rest = text.slice(end, lineAround(text, end).next);
  if (remark === '' && isFirstOfLine(text, start) && rest.trim() === '') {
    return splice(text, line.start, lineAround(text, end).next, '');
  }
  // Of the spaces on both sides of an entry on a shared line, those on one side go, too.
  const spaces = comma === null ? '' : (/^[ \t]*/.exec(text.slice(end))?.[0] ?? '');
  const gap = comma === null ? (/[ \t]*$/.exec(text.slice(line.start, start))?.[0] ?? '') : '';
  const isIndent = line.start === start - gap.length;
  return splice(text, isIndent ? start : start - gap.length, end + spaces.length, remark);
};

/** A value with its place in the text: `text.slice(start, end)`. */
interface JsonNode {
  readonly start: number;
  readonly end: number;
  readonly value: Json;
  /** The members of an object or the items of a list; null for other values. */
  readonly entries: readonly JsonEntry[] | null;
}

interface JsonEntry {
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
const readJsonTree = (text: string): JsonNode | null => {
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

  #problem(what: string, at = this.#at): UnreadableFile {
    const { line, column } = placeAt(this.#text, at);
    return new UnreadableFile(`line ${line}, column ${column}: ${what}`);
  }
}

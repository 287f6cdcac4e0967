import { isMap, isSeq, parseDocument, stringify } from 'yaml';

import { isJsonObject, type Json } from '../../kit/json/json.ts';
import {
  CannotEdit,
  endedLine,
  isSame,
  lineAround,
  lineBreakOf,
  shownPath,
  UnreadableFile,
  type Format,
  type KeyPath,
} from './format.ts';

/** YAML: values and lists at the root, added and removed as whole lines. */
export const yaml: Format = {
  read(text) {
    const document = parseDocument(text);
    const [problem] = document.errors;
    if (problem !== undefined) {
      const { line = 1, col = 1 } = problem.linePos?.[0] ?? {};
      throw new UnreadableFile(`line ${line}, column ${col}: it is not valid YAML`);
    }
    const value: unknown = document.toJS() ?? {};
    if (!isJsonObject(value)) throw new UnreadableFile('it does not contain an object');
    return value;
  },
  set(text, path, value) {
    const key = rootKey(path);
    if (Object.hasOwn(yaml.read(text), key)) throw new CannotEdit(`${key} is there already`);
    const { contents } = parseDocument(text);
    if (isMap(contents) && contents.flow === true) throw new CannotEdit('its settings are in braces');
    return `${endedLine(text)}${lines({ [key]: value }, '', lineBreakOf(text))}`;
  },
  remove(text, path) {
    const start = rootLine(text, rootKey(path));
    return text.slice(0, start) + text.slice(lineAround(text, start).next);
  },
  append(text, path, item) {
    const key = rootKey(path);
    if (!Object.hasOwn(yaml.read(text), key)) return yaml.set(text, path, [item]);
    const list = listAt(text, key);
    const indent = ' '.repeat(list.start - lineAround(text, list.start).start);
    const front = endedLine(text.slice(0, list.end));
    return front + lines([item], indent, lineBreakOf(text)) + text.slice(list.end);
  },
  removeItem(text, path, item) {
    const key = rootKey(path);
    const { items } = listAt(text, key);
    const one = items.find(({ value }) => isSame(value, item));
    if (one === undefined) throw new Error(`the item of ${key} is missing`);
    const without = text.slice(0, one.start) + text.slice(one.end);
    if (items.length > 1) return without;
    return without.replace(new RegExp(String.raw`^(${key}:)(?=[ \t]*(?:#.*)?\r?$)`, 'm'), '$1 []');
  },
  print: (value) => stringify(value, STYLE),
};

/** Long values stay on one line. */
const STYLE = { lineWidth: 0 } as const;

const lines = (value: Json, indent: string, lineBreak: string): string =>
  stringify(value, STYLE)
    .trimEnd()
    .split('\n')
    .map((line) => `${indent}${line}${lineBreak}`)
    .join('');

const rootKey = (path: KeyPath): string => {
  const [key, ...others] = path;
  if (key === undefined || others.length > 0 || !/^\w+$/.test(key))
    throw new CannotEdit(`${shownPath(path)} is not at the root`);
  return key;
};

const rootLine = (text: string, key: string): number => {
  const start = text.search(new RegExp(`^${key}:`, 'm'));
  if (start < 0) throw new CannotEdit(`${key} is not on a line of its own`);
  return start;
};

interface Lines {
  readonly start: number;
  readonly end: number;
}

/** A list with one item per line or more, and the lines of each item. */
const listAt = (
  text: string,
  key: string,
): Lines & { readonly items: readonly (Lines & { readonly value: Json })[] } => {
  const list = parseDocument(text).get(key, true);
  if (!isSeq(list) || list.flow === true || list.items.length === 0 || list.range == null)
    throw new CannotEdit(`${key} is not a list with one item per line`);
  const values = list.toJSON() as readonly Json[];
  const items = values.map((value, index) => ({ value, ...linesOf(text, list.items[index]) }));
  return { start: list.range[0], end: items.at(-1)?.end ?? text.length, items };
};

const linesOf = (text: string, item: unknown): Lines => {
  const [from = 0, to = 0] = (item as { readonly range?: readonly number[] | null }).range ?? [];
  return { start: lineAround(text, from).start, end: text[to - 1] === '\n' ? to : lineAround(text, to).next };
};

import { parse, stringify, TomlError } from 'smol-toml';

import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import {
  CannotEdit,
  endedLine,
  isSame,
  lineBreakOf,
  shownPath,
  UnreadableFile,
  type Format,
  type KeyPath,
} from './format.ts';

/**
 * TOML. Edits are made line by line and understand `key = value` below `[table]`; the caller compares the result, so that a
 * file in another form is left alone.
 */
export const toml: Format = {
  read(text) {
    try {
      return ordinary(parse(text)) as JsonObject;
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      throw new UnreadableFile(`line ${error.line}, column ${error.column}: it is not valid TOML`);
    }
  },
  set(text, path, value) {
    const { lines, lineBreak } = split(text);
    const key = path.at(-1) ?? '';
    const section = sectionOf(lines, path.slice(0, -1));
    if (section === null)
      return `${text === '' ? '' : `${endedLine(text)}${lineBreak}`}${table(path.slice(0, -1), lineBreak)}${entry(key, value)}${lineBreak}`;
    const at = lineOf(lines, section, key);
    if (at !== null) lines[at] = withValue(lines[at] ?? '', value, path);
    else lines.splice(endOf(lines, section), 0, entry(key, value));
    return lines.join(lineBreak);
  },
  remove(text, path) {
    const { lines, lineBreak } = split(text);
    const section = sectionOf(lines, path.slice(0, -1));
    const at = section === null ? null : lineOf(lines, section, path.at(-1) ?? '');
    if (at !== null) lines.splice(at, 1);
    else removeTable(lines, path);
    return lines.join(lineBreak);
  },
  append(_text, path) {
    throw new CannotEdit(`${shownPath(path)} is a list`);
  },
  removeItem: (text, path) => toml.append(text, path, null),
  print: (value) => `${stringify(value).trimEnd()}\n`,
};

/** The library's objects have no prototype, so they would not equal others. Dates stay. */
const ordinary = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ordinary);
  const isTable = isJsonObject(value) && Object.getPrototypeOf(value) === null;
  return isTable
    ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, ordinary(one)]))
    : value;
};

const split = (text: string): { readonly lines: string[]; readonly lineBreak: string } => {
  const lineBreak = lineBreakOf(text);
  return { lines: text.split(lineBreak), lineBreak };
};

const shownKey = (key: string): string => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key));

const table = (path: KeyPath, lineBreak: string): string =>
  path.length === 0 ? '' : `[${path.map(shownKey).join('.')}]${lineBreak}`;

const entry = (key: string, value: Json): string => `${shownKey(key)} = ${JSON.stringify(value)}`;

/** The lines of a table: its header, or -1 for the root, and where the next table begins. */
interface Section {
  readonly header: number;
  readonly end: number;
}

const HEADER = /^\s*\[(?<name>[^[\]]+)\]\s*(?:#.*)?$|^\s*\[\[[^[\]]+\]\]\s*(?:#.*)?$/;

const sectionOf = (lines: readonly string[], path: KeyPath): Section | null => {
  const headers = lines.flatMap((line, index) => (HEADER.test(line) ? [index] : []));
  const header =
    path.length === 0 ? -1 : headers.find((index) => isSame([...pathOf(lines[index] ?? '')], [...path]));
  if (header === undefined) return null;
  return { header, end: headers.find((index) => index > header) ?? lines.length };
};

/** The keys of a header: `[a."b.c"]` is `a`, `b.c`. Empty for a list of tables. */
const pathOf = (line: string): KeyPath => {
  const name = HEADER.exec(line)?.groups?.['name'];
  if (name === undefined) return [];
  return onlyPath(toml.read(`[${name}]`));
};

const onlyPath = (value: unknown): KeyPath => {
  const [only] = isJsonObject(value) ? Object.entries(value) : [];
  return only === undefined ? [] : [only[0], ...onlyPath(only[1])];
};

const ENTRY = /^(?<front>\s*(?<key>"[^"]*"|'[^']*'|[\w-]+)\s*=\s*)(?<value>.*)$/;
const VALUE = /^(?:"(?!"")(?:[^"\\]|\\.)*"|'(?!'')[^']*'|[^\s#,"'[\]{}]+)(?=\s*(?:#.*)?$)/;

const lineOf = (lines: readonly string[], { header, end }: Section, key: string): number | null => {
  for (let index = header + 1; index < end; index += 1) {
    if (ENTRY.exec(lines[index] ?? '')?.groups?.['key']?.replaceAll(/^["']|["']$/g, '') === key) return index;
  }
  return null;
};

const withValue = (line: string, value: Json, path: KeyPath): string => {
  const { front = '', value: old = '' } = ENTRY.exec(line)?.groups ?? {};
  if (!VALUE.test(old)) throw new CannotEdit(`the value of ${shownPath(path)} is not on one line`);
  return front + old.replace(VALUE, () => JSON.stringify(value));
};

/** The place after the last line of the table that is not blank or a comment. */
const endOf = (lines: readonly string[], { header, end }: Section): number => {
  for (let index = end - 1; index > header; index -= 1) {
    if (!/^\s*(?:#.*)?$/.test(lines[index] ?? '')) return index + 1;
  }
  return header + 1;
};

/** Removes the header of an empty table, and the blank line in front of it. A comment in it keeps it. */
const removeTable = (lines: string[], path: KeyPath): void => {
  const section = sectionOf(lines, path);
  if (section === null) return;
  const { header, end } = section;
  const body = lines.slice(header + 1, end);
  if (body.some((line) => line.trim() !== '')) throw new CannotEdit(`${shownPath(path)} is not empty`);
  const isSpaced = header > 0 && lines[header - 1]?.trim() === '';
  const kept = end === lines.length ? body.slice(-1) : body;
  lines.splice(isSpaced ? header - 1 : header, (isSpaced ? 1 : 0) + 1 + body.length, ...kept);
};

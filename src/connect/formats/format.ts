import { isDeepStrictEqual } from 'node:util';

import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';

/** Keys from the root of a file to a value. */
export type KeyPath = readonly string[];

/**
 * Edits one kind of settings file as text, so that everything else in it stays as its author wrote it. The functions throw
 * `UnreadableFile` or `CannotEdit`. An empty text is a file without settings.
 */
export interface Format {
  read(text: string): JsonObject;
  /** Sets a value; parent objects that are missing are created. */
  set(text: string, path: KeyPath, value: Json): string;
  /** Removes a value that is there. */
  remove(text: string, path: KeyPath): string;
  /** Appends to a list; a missing one is created. */
  append(text: string, path: KeyPath, item: Json): string;
  /** Removes an item from a list that contains it. */
  removeItem(text: string, path: KeyPath, item: Json): string;
  /** A whole new file. */
  print(value: JsonObject): string;
}

/** The file is not valid. The message says where, and never quotes it: it may contain secrets. */
export class UnreadableFile extends Error {}

/** The file is valid, but cannot be edited without the risk of changing something else. */
export class CannotEdit extends Error {}

/** `env.ANTHROPIC_BASE_URL` */
export const shownPath = (path: KeyPath): string => path.join('.');

export const valueAt = (root: Json | undefined, path: KeyPath): Json | undefined => {
  let value = root;
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
};

/** A copy with another value at the path; undefined removes it. */
export const withValueAt = (root: JsonObject, path: KeyPath, value: Json | undefined): JsonObject => {
  const [key, ...others] = path;
  if (key === undefined) throw new Error('the path is empty');
  const inner = Object.hasOwn(root, key) ? root[key] : undefined;
  const next = others.length === 0 ? value : withValueAt(isJsonObject(inner) ? inner : {}, others, value);
  const kept = Object.entries(root).filter(([name]) => name !== key || next !== undefined);
  if (next === undefined) return Object.fromEntries(kept);
  return Object.fromEntries(
    Object.hasOwn(root, key)
      ? kept.map(([name, one]) => [name, name === key ? next : one])
      : [...kept, [key, next]],
  );
};

/** The values are the same, whatever the order of their keys. */
export const isSame = (one: Json | undefined, other: Json | undefined): boolean =>
  isDeepStrictEqual(one, other);

/** The line break that the text uses. */
export const lineBreakOf = (text: string): string => /\r?\n/.exec(text)?.[0] ?? '\n';

/** The text, which ends with a line break unless it is empty. */
export const endedLine = (text: string): string =>
  text === '' || text.endsWith('\n') ? text : `${text}${lineBreakOf(text)}`;

/** Starts of the line that contains this place, and of the next one. */
export const lineAround = (text: string, at: number): { readonly start: number; readonly next: number } => {
  const end = text.indexOf('\n', at);
  return { start: text.lastIndexOf('\n', at - 1) + 1, next: end < 0 ? text.length : end + 1 };
};

/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A member of an untrusted object; empty if it has another type. */
export const textIn = (object: JsonObject, key: string): string => {
  const value = object[key];
  return typeof value === 'string' ? value : '';
};
export const listIn = (object: JsonObject, key: string): readonly Json[] => {
  const value = object[key];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
};
export const objectsIn = (object: JsonObject, key: string): readonly JsonObject[] =>
  listIn(object, key).filter(isJsonObject);

/** The members that have a value. */
export const present = (members: Readonly<Record<string, Json | undefined>>): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));

/** The total length of all strings in a value. */
export const charsIn = (value: unknown): number => {
  let chars = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const one = open.pop();
    if (typeof one === 'string') chars += one.length;
    else if (typeof one === 'object' && one !== null) {
      for (const inner of Object.values(one)) open.push(inner);
    }
  }
  return chars;
};

/** Whether lists and objects are nested deeper than this. */
export const isDeeperThan = (value: unknown, levels: number): boolean => {
  let level = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    const open = level.filter((one) => typeof one === 'object' && one !== null);
    if (open.length > 0 && depth >= levels) return true;
    level = open.flatMap((one): unknown[] => Object.values(one));
  }
  return false;
};

/** Null if the text is not a JSON object. */
export const parseJsonObject = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

/** The object in a text that may have other text around it; null if there is none. */
export const jsonObjectWithin = (text: string): JsonObject | null =>
  parseJsonObject(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));

/** JSON for strict parsers: lone surrogates, which UTF-8 cannot represent, become the replacement character. */
export const wellFormedJson = (value: unknown): string => withoutHalves(JSON.stringify(value));

/** `JSON.stringify` writes only lone surrogates as such an escape. */
const HALF = '\\ud';
const ESCAPE_LENGTH = 6;

/** Replaces lone surrogates in the output of `JSON.stringify`. */
const withoutHalves = (text: string): string => {
  let at = text.indexOf(HALF);
  if (at === -1) return text;
  let whole = '';
  let end = 0;
  while (at !== -1) {
    // After an odd number of backslashes it is text that looks like an escape. Each backslash is counted once, because a
    // run of them ends at one position only.
    let first = at;
    while (first > end && text.charCodeAt(first - 1) === BACKSLASH) first -= 1;
    if ((at - first) % 2 === 0) {
      whole += `${text.slice(end, at)}\\ufffd`;
      end = at + ESCAPE_LENGTH;
    }
    at = text.indexOf(HALF, at + HALF.length);
  }
  return whole + text.slice(end);
};

const BACKSLASH = 0x5c;

/** Whether two values are the same JSON, whatever the order of members. */
export const isSameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((one, index) => isSameJson(one, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isSameJson(a[key], b[key]))
  );
};

/** Resolves a URI fragment within a document (`#/$defs/a`, RFC 6901); undefined if not found. */
export const resolvePointer = (root: Json, pointer: string): Json | undefined => {
  if (!pointer.startsWith('#')) return undefined;
  let found: Json | undefined = root;
  for (const step of pointer.slice(1).split('/').slice(1)) {
    const key = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
    else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }
  return found;
};

const decoded = (step: string): string => {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
};

import { placeAt, type JsonPlace } from './json-error-place.ts';

/** Strings, and what shows which of them are keys. */
const TOKENS = /"(?:[^"\\]+|\\.)*"|[{}[\],]/g;

/** Finds the first key that its object has already, of which `JSON.parse` uses the last. The text must be JSON. */
export const repeatedKeyPlace = (text: string): JsonPlace | null => {
  /** The keys of the open objects; null for a list. */
  const open: (Set<string> | null)[] = [];
  let isKeyNext = false;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    const keys = open.at(-1) ?? null;
    if (isKeyNext && keys !== null && token.startsWith('"')) {
      const key = JSON.parse(token) as string;
      if (keys.has(key)) return placeAt(text, index);
      keys.add(key);
    }
    isKeyNext = token === '{' || (token === ',' && keys !== null);
  }
  return null;
};

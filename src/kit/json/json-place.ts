/** A position in a text, counted from 1. */
export interface JsonPlace {
  readonly line: number;
  readonly column: number;
}

/**
 * Finds the syntax error of a text that `JSON.parse` rejects. Its messages quote the text, which may be secret, and some
 * have no position: so this searches for the longest prefix that could continue as JSON.
 */
export const jsonErrorPlace = (text: string): JsonPlace => {
  let good = 0;
  let bad = text.length + 1;
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (couldContinue(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return placeAt(text, good);
};

export const placeAt = (text: string, index: number): JsonPlace => {
  const before = text.slice(0, index).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
};

/** Whether JSON may start with this text: it is JSON, or fails only at its end. */
const couldContinue = (beginning: string): boolean => {
  try {
    JSON.parse(beginning);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    if (message === 'Unexpected end of JSON input') return true;
    const [, position] = / at position (\d+)/.exec(message) ?? [];
    return position !== undefined && Number(position) >= beginning.length;
  }
};

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

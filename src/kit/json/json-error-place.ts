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

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The index after the string that opens at `start`; strings are skipped by native search. */
const afterString = (bytes: Buffer, start: number): number => {
  let quote = bytes.indexOf(QUOTE, start + 1);
  while (quote !== -1) {
    let before = quote - 1;
    while (bytes[before] === BACKSLASH) before -= 1;
    const backslashes = quote - 1 - before;
    if (backslashes % 2 === 0) return quote + 1;
    quote = bytes.indexOf(QUOTE, quote + 1);
  }
  return bytes.length;
};

/**
 * Whether JSON text nests deeper than `limit`. Looked at before parsing: a parser spends some
 * hundred bytes on each of the thirty million brackets that a body can hold.
 */
export const nestsDeeperThan = (bytes: Buffer, limit: number): boolean => {
  let depth = 0;
  let index = 0;
  while (index < bytes.length) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      index = afterString(bytes, index);
      continue;
    }
    if (byte === OPEN_BRACKET || byte === OPEN_BRACE) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === CLOSE_BRACKET || byte === CLOSE_BRACE) {
      depth -= 1;
    }
    index += 1;
  }
  return false;
};

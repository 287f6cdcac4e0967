/** Escapes inside JSON strings, one at a time, so that `\\u001b` is read as a backslash and text. */
const JSON_ESCAPE = /\\(?:u00(?:[01][0-9a-f])|.)/gi;
/** JSON does not escape these: C1 controls, and characters that change the direction of text. */
// oxlint-disable-next-line no-control-regex -- finding control characters is the purpose
const RAW_CONTROL = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/** `\n` separates the lines of a stack; `\t` is harmless. The rest moves the cursor. */
const HARMLESS = new Set(['\\n', '\\t', '\\"', '\\\\', '\\/', '\\u000a', '\\u0009']);

const escaped = (character: string): string =>
  String.raw`\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Escapes control characters in JSON strings, so that a terminal does not interpret them. The result is still JSON. */
export const printable = (json: string): string =>
  json
    .replaceAll(JSON_ESCAPE, (escape) => {
      if (HARMLESS.has(escape.toLowerCase())) return escape;
      return /^\\(?:u00|[bfr])/i.test(escape) ? `\\${escape}` : escape;
    })
    .replaceAll(RAW_CONTROL, (character) => `\\${escaped(character)}`);

/** A value as JSON in lines, for a terminal and for programs: without control characters, and it is parsed to the same value. */
export const jsonLines = (value: unknown): string =>
  `${JSON.stringify(value, null, 2).replaceAll(RAW_CONTROL, escaped)}\n`;

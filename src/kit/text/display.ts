/** Limit for quoting a client's text. */
const MAX_QUOTED = 100;

/** Quotes foreign text in a message, truncated. */
export const quoted = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED).toWellFormed()}…` : text;

/** Quotes text for a shell: PowerShell on Windows, else Unix shells. */
export const shellQuoted = (text: string, platform: string): string => {
  if (platform === 'win32') return `'${text.replaceAll("'", "''")}'`;
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
};

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

/** A duration for people: `12 ms`, `1.2 s`, `3 min 20 s`. */
export const duration = (ms: number): string => {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};

/** `2026-11-16 14:05 UTC` */
export const shownTime = (date: Date): string => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

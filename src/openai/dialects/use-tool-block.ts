import type { ToolCall } from '../../canonical/request/item.ts';
import { parseJsonObject, type Json } from '../../kit/json/json.ts';

/** Why a call has no block. */
export type NoBlockReason =
  /** It is a custom tool or in a namespace. */
  | 'kind'
  | 'too_long'
  /** The arguments are not a JSON object. */
  | 'arguments'
  /** A name is not a valid tag, or is reserved. */
  | 'name'
  /** A value would be parsed as a different value. */
  | 'value';

export type BlockResult = { readonly block: string } | { readonly reason: NoBlockReason };

export const OPENING = '<use_tool>';
export const CLOSING = '</use_tool>';

/** Longer arguments are not parsed, because that would block the event loop. */
export const MAX_ARGUMENTS_CHARS = 1024 * 1024;

const SAFE_NAME = /^[A-Za-z_][\w.-]{0,127}$/;
/** These tags end the block or name its tool; `__proto__` is a special property. */
const RESERVED_NAMES = new Set(['name', 'use_tool', '__proto__']);

/** Writes a call in Obsidian Copilot's format. It has no escaping: a call that would be misread gets no block. */
export const writeBlock = ({ tool, name, namespace, input }: ToolCall): BlockResult => {
  if (tool !== 'function' || namespace !== undefined) return { reason: 'kind' };
  if (input.length > MAX_ARGUMENTS_CHARS) return { reason: 'too_long' };
  const args = input.trim() === '' ? {} : parseJsonObject(input);
  if (args === null) return { reason: 'arguments' };
  if (!SAFE_NAME.test(name)) return { reason: 'name' };
  const lines = [`<name>${name}</name>`];
  for (const [key, value] of Object.entries(args)) {
    if (!SAFE_NAME.test(key) || RESERVED_NAMES.has(key)) return { reason: 'name' };
    const written = value === undefined ? null : writeValue(value);
    if (written === null) return { reason: 'value' };
    lines.push(`<${key}>${written}</${key}>`);
  }
  return { block: [OPENING, ...lines, CLOSING].join('\n') };
};

/** Writes a value; null if it would be parsed differently. */
const writeValue = (value: Json): string | null => {
  if (typeof value === 'string') return isReadVerbatim(value) ? value : null;
  // The format has only text and JSON; models write numbers as text.
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === null ? null : writeJson(value);
};

/** Parsing trims spaces, turns tags into lists or objects, and parses JSON. */
const isReadVerbatim = (text: string): boolean =>
  text.trim() === text && !text.includes('</') && !(looksLikeJson(text) && isJson(text));

export const looksLikeJson = (text: string): boolean =>
  (text.startsWith('[') && text.endsWith(']')) || (text.startsWith('{') && text.endsWith('}'));

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** In JSON, angle brackets occur only in strings, so they can be escaped. Returns null if the value is nested too deeply. */
const writeJson = (value: Json): string | null => {
  try {
    return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

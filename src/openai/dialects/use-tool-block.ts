import type { ToolCall } from '../../canonical/request/item.ts';
import { parseJsonObject, type Json } from '../../kit/json/json.ts';

/** Why a call has no block. */
export type NoBlock =
  /** It calls no function: its input is any text, or its name stands in a namespace. */
  | 'kind'
  | 'too_long'
  /** They are no JSON object. */
  | 'arguments'
  /** A name that is no tag, or means something else as one. */
  | 'name'
  /** A value that would be read as another one. */
  | 'value';

export type BlockResult = { readonly block: string } | { readonly none: NoBlock };

export const OPENING = '<use_tool>';
export const CLOSING = '</use_tool>';

/** Longer arguments are not parsed: that takes all others' time. */
export const MAX_ARGUMENTS_CHARS = 1024 * 1024;

const SAFE_NAME = /^[A-Za-z_][\w.-]{0,127}$/;
/** As tags they end the block, or name its tool; `__proto__` is no ordinary property. */
const TAKEN_NAMES = new Set(['name', 'use_tool', '__proto__']);

/**
 * A call as Obsidian Copilot's prompt taught models to write it. There is no way to escape anything in
 * this grammar, so a call that would be read as another one has no block.
 */
export const writeBlock = ({ tool, name, namespace, input }: ToolCall): BlockResult => {
  if (tool !== 'function' || namespace !== undefined) return { none: 'kind' };
  if (input.length > MAX_ARGUMENTS_CHARS) return { none: 'too_long' };
  const given = input.trim() === '' ? {} : parseJsonObject(input);
  if (given === null) return { none: 'arguments' };
  if (!SAFE_NAME.test(name)) return { none: 'name' };
  const lines = [`<name>${name}</name>`];
  for (const [key, value] of Object.entries(given)) {
    if (!SAFE_NAME.test(key) || TAKEN_NAMES.has(key)) return { none: 'name' };
    const written = value === undefined ? null : writeValue(value);
    if (written === null) return { none: 'value' };
    lines.push(`<${key}>${written}</${key}>`);
  }
  return { block: [OPENING, ...lines, CLOSING].join('\n') };
};

/** Null: it would be read as something else. */
const writeValue = (value: Json): string | null => {
  if (typeof value === 'string') return isReadAsItIs(value) ? value : null;
  // The grammar has no other values than texts and JSON: a number is the text that a model would write.
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value === null ? null : writeJson(value);
};

/** Spaces at its ends would be lost, tags would make a list or an object of it, and JSON is parsed. */
const isReadAsItIs = (text: string): boolean =>
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

/** In JSON an angle bracket stands in texts only, and can be written so that no tag is seen. Null: it is too deep. */
const writeJson = (value: Json): string | null => {
  try {
    return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
};

import type { Message, Part } from '../../../canonical/request/item.ts';
import { isJsonObject, type JsonObject } from '../../../kit/json/json.ts';
import { MAX_ID_CHARS, MAX_PARTS, MAX_TEXT } from '../../../apis/bounds.ts';

/**
 * Reads a message that is nothing but text, as nearly all items of a long conversation are, in a tenth of the time that
 * the schemas need. Null: it has something else, or is invalid, and the schemas say what.
 */
export const plainMessage = (value: JsonObject): Message | null => {
  for (const key in value) if (!MESSAGE_KEYS.has(key)) return null;
  const { type, role, content, id, status } = value;
  if (type !== undefined && type !== 'message') return null;
  if (role !== 'user' && role !== 'assistant' && role !== 'system' && role !== 'developer') return null;
  if (status !== undefined && typeof status !== 'string') return null;
  if (id !== undefined && (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARS)) return null;
  const parts = typeof content === 'string' ? textParts(content) : plainParts(content);
  if (parts === null) return null;
  return id === undefined ? { kind: 'message', role, parts } : { kind: 'message', id, role, parts };
};

const MESSAGE_KEYS: ReadonlySet<string> = new Set(['type', 'role', 'content', 'id', 'status']);

const textParts = (text: string): readonly Part[] | null =>
  text.length > MAX_TEXT ? null : [{ kind: 'text', text }];

const plainParts = (content: unknown): readonly Part[] | null => {
  if (!Array.isArray(content) || content.length > MAX_PARTS) return null;
  const parts: Part[] = [];
  for (const part of content as readonly unknown[]) {
    if (!isJsonObject(part)) return null;
    const { type, text } = part;
    const fields = type === 'input_text' ? NONE : type === 'output_text' ? OUTPUT_FIELDS : null;
    if (fields === null || typeof text !== 'string' || text.length > MAX_TEXT) return null;
    for (const key in part) {
      if (key === 'type' || key === 'text') continue;
      if (!fields.has(key) || !isEmptyList(part[key])) return null;
    }
    parts.push({ kind: 'text', text });
  }
  return parts;
};

const NONE: ReadonlySet<string> = new Set();
/** Fields that clients send back as they got them, usually empty. */
const OUTPUT_FIELDS: ReadonlySet<string> = new Set(['annotations', 'logprobs']);

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

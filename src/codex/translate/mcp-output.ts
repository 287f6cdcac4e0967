import type { Part } from '../../canonical/request/item.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';

/** The result of an MCP tool, as the app-server reports it. */
export interface McpResult {
  readonly content: readonly Json[];
  readonly structuredContent?: Json;
}

/**
 * The `output` of an `mcp_call` as one text, which is what the model has seen: codex shows it the structured
 * content if any; else the joined texts of the result, or the content as JSON if there is more than text.
 */
export const toOutputText = ({ content, structuredContent = null }: McpResult): string => {
  if (structuredContent !== null) return JSON.stringify(structuredContent);
  const texts = content.map((part) => (isJsonObject(part) && part['type'] === 'text' ? part['text'] : null));
  return texts.every((text) => typeof text === 'string') ? texts.join('\n') : JSON.stringify(content);
};

/** Converts the output back for the model: images are shown as images. */
export const fromOutputText = (output: string): string | readonly Part[] => {
  if (output.length > MAX_PARSED || !output.startsWith('[{"') || !output.includes('"type":"image"')) {
    return output;
  }
  const parts = parsedList(output).map(toPart);
  return parts.length > 0 && parts.every((part) => part !== null) ? parts : output;
};

/** Longer outputs stay text. */
const MAX_PARSED = 8 * 1024 * 1024;

const parsedList = (text: string): readonly Json[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as readonly Json[]) : [];
  } catch {
    return [];
  }
};

const toPart = (part: Json): Part | null => {
  if (!isJsonObject(part)) return null;
  const { type, text } = part;
  if (type === 'text') return typeof text === 'string' ? { kind: 'text', text } : null;
  return type === 'image' ? toImage(part) : { kind: 'text', text: JSON.stringify(part) };
};

const toImage = ({ data, mimeType }: JsonObject): Part | null =>
  typeof data === 'string' && typeof mimeType === 'string' && /^image\/[\w.+-]+$/.test(mimeType)
    ? { kind: 'image', url: `data:${mimeType};base64,${data}` }
    : null;

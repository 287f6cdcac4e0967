/** Any JSON value, and the object form that most protocol payloads have. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Null for text that is no JSON, and for JSON that is no object. */
export const parseJsonObject = (text: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
};

/**
 * JSON text that every parser takes. A client may cut a character in two; the half of it has no form
 * in UTF-8, strict parsers refuse the whole text for it, and so it becomes the replacement character.
 */
export const wellFormedJson = (value: unknown): string => {
  const text = JSON.stringify(value);
  // Halves of characters are the only ones that are written as such an escape.
  if (!text.includes('\\ud')) return text;
  return text.replaceAll(/(\\+)ud[89a-f][\da-f]{2}/g, (match, backslashes: string) =>
    // An even number of backslashes are backslashes of the text itself.
    backslashes.length % 2 === 0 ? match : `${backslashes}ufffd`,
  );
};

import { z } from 'zod';

import { isJsonObject } from '../kit/json.ts';
import { quoted } from '../kit/quote.ts';

/**
 * Names the fields of a value that its schema does not read, so that nothing a client sent is
 * dropped without a word. Unions are left alone: whoever parses their branches asks per branch.
 */
export const unreadFields = (schema: z.ZodType, value: unknown, at: string): string[] => {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.flatMap((one, index) => unreadFields(inner.element as z.ZodType, one, `${at}[${index}]`));
  }
  if (!(inner instanceof z.ZodObject) || !isJsonObject(value)) return [];
  // A loose object keeps all its fields.
  if (inner.def.catchall !== undefined) return [];
  const shape = inner.shape as Record<string, z.ZodType | undefined>;
  return Object.entries(value).flatMap(([key, one]) => {
    const place = at === '' ? quoted(key) : `${at}.${quoted(key)}`;
    const field = Object.hasOwn(shape, key) ? shape[key] : undefined;
    return field === undefined ? [place] : unreadFields(field, one, place);
  });
};

const unwrap = (schema: z.ZodType): z.ZodType => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  return schema;
};

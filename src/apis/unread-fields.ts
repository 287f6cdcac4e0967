import { z } from 'zod';

import { isJsonObject } from '../kit/json/json.ts';
import { quoted } from '../kit/text/display.ts';

/** Limit on reported names: a body could have a million unknown fields. */
const MAX_NAMES = 1_000;

/**
 * Lists the fields of a value that its schema does not read, so that nothing is dropped silently. Unions are skipped:
 * the code that parses a branch lists the fields of that branch.
 */
export const unreadFields = (schema: z.ZodType, value: unknown, at: string): string[] => {
  const names: string[] = [];
  noteUnread(names, schema, value, at);
  return names;
};

/** The names of the fields that have a value other than null or false. */
export const namesWhere = (fields: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(fields).filter((name) => (fields[name] ?? false) !== false);

/** Appends the unread fields to `names`. */
export const noteUnread = (names: string[], schema: z.ZodType, value: unknown, at: string): void => {
  readerOf(schema)?.(names, value, at);
};

type Reader = (names: string[], value: unknown, at: string) => void;

/** Cached readers by schema; null if the schema reads everything. */
const readers = new WeakMap<z.ZodType, Reader | null>();

const readerOf = (schema: z.ZodType): Reader | null => {
  const known = readers.get(schema);
  if (known !== undefined) return known;
  const reader = makeReader(unwrap(schema));
  readers.set(schema, reader);
  return reader;
};

const makeReader = (schema: z.ZodType): Reader | null => {
  if (schema instanceof z.ZodArray) {
    const element = readerOf(schema.element as z.ZodType);
    if (element === null) return null;
    return (names, value, at) => {
      if (!Array.isArray(value)) return;
      for (const [index, one] of value.entries()) element(names, one, `${at}[${index}]`);
    };
  }
  // A loose object reads all fields.
  if (!(schema instanceof z.ZodObject) || schema.def.catchall !== undefined) return null;
  const fields = new Map(
    Object.entries(schema.shape as Record<string, z.ZodType>).map(([key, field]) => [key, readerOf(field)]),
  );
  return (names, value, at) => {
    if (!isJsonObject(value)) return;
    for (const key of Object.keys(value)) {
      const field = fields.get(key);
      if (field === null) continue;
      if (names.length >= MAX_NAMES) return;
      const place = at === '' ? quoted(key) : `${at}.${quoted(key)}`;
      // Null is ignored: many clients send null for unused fields.
      if (field === undefined && value[key] !== null) names.push(place);
      else field?.(names, value[key], place);
    }
  };
};

const unwrap = (schema: z.ZodType): z.ZodType => {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  // A list with a length check before it.
  return schema instanceof z.ZodPipe ? unwrap(schema.def.out as z.ZodType) : schema;
};

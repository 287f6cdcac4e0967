import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormatsModule from 'ajv-formats';

import { fail } from '../canonical/failure.ts';
import type { OutputFormat } from '../canonical/turn-request.ts';
import type { JsonObject } from '../kit/json.ts';

/** Says whether a finished answer keeps to the format that the client asked for. */
export type FormatCheck = (text: string) => boolean;

// The package is CommonJS: its default export arrives one level down.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => Ajv2020;

/** Null when there is nothing to check. A schema that is none is the client's mistake. */
export const checkFormat = (format: OutputFormat, place: string): FormatCheck | null => {
  if (format.kind === 'text') return null;
  if (format.kind === 'json-object') return (text) => isObject(parse(text));
  const validate = compileOnce(format.schema, format.name, place);
  return validate === null ? null : (text) => validate(parse(text));
};

type Validate = (value: unknown) => boolean;

/** Clients send the same few schemas over and over, and compiling one takes milliseconds. */
const MAX_COMPILED = 100;
const compiled = new Map<string, Validate>();

/** Compiling a larger one would make all other requests wait; its answers go unchecked. */
const MAX_SCHEMA_CHARS = 64 * 1024;

const compileOnce = (schema: JsonObject, name: string, place: string): Validate | null => {
  const key = JSON.stringify(schema);
  if (key.length > MAX_SCHEMA_CHARS) return null;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const validate = compile(schema, name, place);
  if (validate === null) return null;
  compiled.set(key, validate);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return validate;
};

/**
 * A pattern of a stranger is looked at and not run: on the wrong text it could take for ever, and
 * all that a mismatch leads to is a line in the log.
 */
const readRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const { source } = new RegExp(pattern, flags);
    return { test: () => true, toString: () => source };
  },
  { code: 'readRegExp' },
);

const compile = (schema: JsonObject, name: string, place: string): Validate | null => {
  // `$schema` only names the dialect, and the SDK's helpers name one that is not loaded here. An
  // `$async` schema would answer with a promise, whose rejection nobody takes.
  const { $schema: _dialect, $async: _async, ...plain } = schema;
  // A fresh instance each time: schemas of strangers must not meet by `$id`.
  const ajv = addFormats(
    new Ajv2020({ strict: false, validateFormats: true, logger: false, code: { regExp: readRegExp } }),
  );
  try {
    return ajv.compile(plain);
  } catch (error) {
    // Too wide or too deep for the compiler, which says nothing about the schema.
    if (error instanceof RangeError) return null;
    throw fail('invalid_value', {
      param: place,
      code: 'invalid_json_schema',
      message: `Invalid schema for response format '${name}': ${error instanceof Error ? error.message : 'not a JSON schema'}.`,
    });
  }
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

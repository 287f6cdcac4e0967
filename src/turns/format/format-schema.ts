import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormatsModule from 'ajv-formats';

import type { JsonObject } from '../../kit/json/json.ts';
import { forgetOldest } from '../../kit/collections/recent.ts';

/** A schema and optionally an answer to validate, both as JSON text. */
export interface FormatJob {
  readonly schema: string;
  readonly answer: string | null;
}

export type FormatVerdict =
  | { readonly kind: 'sound' }
  /** An invalid schema. */
  | { readonly kind: 'unsound'; readonly message: string }
  /** Too wide or too deep for the compiler, but perhaps valid. */
  | { readonly kind: 'unknown' }
  /** What is wrong with the answer; null if it is valid. */
  | { readonly kind: 'answered'; readonly problem: string | null };

/** Describes what is wrong with a value. */
type Validate = (value: unknown) => string | null;

// The package is CommonJS: its default export arrives one level down.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => Ajv2020;

/** Clients send the same few schemas over and over, and compiling one takes milliseconds. */
const MAX_COMPILED = 100;
const compiled = new Map<string, Validate>();

/** Runs in a worker thread: an untrusted schema may take for ever. */
export const judgeFormat = ({ schema, answer }: FormatJob): FormatVerdict => {
  const validate = compiled.get(schema) ?? compile(schema);
  if (typeof validate !== 'function') return validate;
  compiled.delete(schema);
  compiled.set(schema, validate);
  forgetOldest(compiled, MAX_COMPILED);
  return answer === null ? { kind: 'sound' } : { kind: 'answered', problem: problemWith(answer, validate) };
};

/** Checks patterns for syntax without running them: a mismatch would only be logged. */
const readRegExp = Object.assign(
  (pattern: string, flags: string) => {
    const { source } = new RegExp(pattern, flags);
    return { test: () => true, toString: () => source };
  },
  { code: 'readRegExp' },
);

const compile = (schema: string): Validate | Exclude<FormatVerdict, { kind: 'answered' }> => {
  // `$schema` only names the dialect, and the SDK's helpers name one that is not loaded here. An
  // `$async` schema would answer with a promise, whose rejection would be unhandled.
  const { $schema: _dialect, $async: _async, ...plain } = JSON.parse(schema) as JsonObject;
  // A fresh instance each time: schemas of different clients must not share an `$id`.
  const ajv = addFormats(
    new Ajv2020({ strict: false, validateFormats: true, logger: false, code: { regExp: readRegExp } }),
  );
  try {
    const validate = ajv.compile(plain);
    return (value) =>
      validate(value) ? null : shownProblem(ajv.errorsText(validate.errors, { dataVar: 'value' }));
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'unknown' };
    return { kind: 'unsound', message: error instanceof Error ? error.message : 'not a JSON schema' };
  }
};

/** A path in a value can be as long as the value. */
const MAX_PROBLEM = 500;

const shownProblem = (text: string): string =>
  text.length > MAX_PROBLEM ? `${text.slice(0, MAX_PROBLEM)}…` : text;

const problemWith = (text: string, validate: Validate): string | null => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return `not valid JSON (${error.message})`;
    throw error;
  }
  return validate(value);
};

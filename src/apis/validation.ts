import { z } from 'zod';

import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';
import { quoted } from '../kit/text/display.ts';
import { isJsonObject, type JsonObject } from '../kit/json/json.ts';
import type { Part } from '../canonical/request/item.ts';

/** Parses a value. Throws a 400 in OpenAI's wording for the first problem. */
export const parseBody = <S extends z.ZodType>(schema: S, value: unknown, at = ''): z.output<S> => {
  const result = schema.safeParse(value, { reportInput: true, error: kindOfNumber });
  if (result.success) return result.data;
  const issue = deepestIssue(result.error.issues);
  throw describeIssue(issue, joinPath(at, issue.path));
};

/** OpenAI's form of a location in a body: `input[2].content[0].text`. */
const joinPath = (at: string, path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    const name = quoted(String(key));
    return text === '' ? name : `${text}.${name}`;
  }, at);

type Issue = z.core.$ZodIssue;

/** Stores the expected kind of number as the message, because the issue itself does not contain it. */
const kindOfNumber = ({ code, origin, schema }: z.core.$ZodRawIssue): string | undefined => {
  if ((code !== 'too_big' && code !== 'too_small') || origin !== 'number') return undefined;
  return schema instanceof z.ZodNumber && schema.isInt ? 'integer' : 'decimal';
};

/** In a union, the issue of the branch that parsed deepest is the most likely cause. */
const deepestIssue = (issues: readonly Issue[]): Issue => {
  const first = issues[0];
  if (first === undefined) throw new Error('a failed parse has an issue');
  if (first.code !== 'invalid_union' || first.errors.length === 0) return first;
  const branches = first.errors
    .map((branch) => deepestIssue(branch))
    .toSorted((a, b) => b.path.length - a.path.length);
  // A value of the right type that breaks a rule also belongs to that branch.
  const best = branches.find((one) => one.path.length > 0 || !OTHER_TYPE.has(one.code));
  if (best === undefined) return first;
  return { ...best, path: [...first.path, ...best.path] };
};

/** Issue codes of a branch that does not match the value at all. */
const OTHER_TYPE: ReadonlySet<Issue['code']> = new Set(['invalid_type', 'invalid_value', 'invalid_union']);

const describeIssue = (issue: Issue, param: string): GatewayError => {
  const got = nameOf(issue.input);
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return missing(param);
      return gatewayError('invalid_type', {
        param,
        message: `Invalid type for '${param}': expected ${article(issue.expected)}, but got ${got} instead.`,
      });
    case 'invalid_union':
      if (issue.input === undefined) return missing(param);
      return gatewayError('invalid_type', {
        param,
        message: `Invalid type for '${param}': ${problemOf(issue.errors, got)}.`,
      });
    case 'invalid_value':
      if (issue.input === undefined) return missing(param);
      return invalidChoice(param, issue.input, issue.values.map(String));
    case 'too_big':
      return outOfRange(issue, param, 'above', Number(issue.maximum));
    case 'too_small':
      return outOfRange(issue, param, 'below', Number(issue.minimum));
    case 'invalid_format':
    case 'not_multiple_of':
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return gatewayError('invalid_value', {
        param,
        message: `Invalid '${param}': ${quoted(issue.message)}`,
      });
    default:
      return gatewayError('invalid_value', { param, message: `Invalid '${param}'.` });
  }
};

export const missing = (param: string): GatewayError =>
  gatewayError('missing_required_parameter', { param, message: `Missing required parameter: '${param}'.` });

/** OpenAI uses a separate code for this. */
export const emptyArray = (param: string): GatewayError =>
  gatewayError('invalid_value', {
    param,
    code: 'empty_array',
    message: `Invalid '${param}': empty array. Expected an array with minimum length 1, but got an empty array instead.`,
  });

export const invalidChoice = (param: string, value: unknown, supported: readonly string[]): GatewayError =>
  gatewayError('invalid_value', {
    param,
    message: `Invalid value: ${quote(value)}. Supported values are: ${list(supported.map((one) => `'${one}'`))}.`,
  });

/** Names the types that a union allows, if it is one of types only. */
const problemOf = (branches: readonly (readonly z.core.$ZodIssue[])[], got: string): string => {
  const types = branches.map(([issue, ...others]) =>
    issue?.code === 'invalid_type' && issue.path.length === 0 && others.length === 0 ? issue.expected : null,
  );
  const known = new Set(types.filter((type) => type !== null));
  return types.includes(null) || known.size === 0
    ? `${got} is not a valid form of this parameter`
    : `expected ${[...known].map((type) => article(type)).join(' or ')}, but got ${got} instead`;
};

const list = (values: readonly string[]): string => {
  if (values.length < 2) return values.join('');
  if (values.length === 2) return values.join(' and ');
  return `${values.slice(0, -1).join(', ')}, and ${values.at(-1)}`;
};

const quote = (value: unknown): string =>
  `'${quoted(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined'))}'`;

/** The error for a value that should be an object. */
export const notAnObject = (param: string, value: unknown): GatewayError =>
  gatewayError('invalid_type', {
    param,
    message: `Invalid type for '${param}': expected an object, but got ${quoted(JSON.stringify(value) ?? 'nothing')} instead.`,
  });

/** Parses an object with a `type` or `role` that must be one of the tags. */
export const readTagged = <Tag extends string>(
  value: unknown,
  key: 'type' | 'role',
  tags: readonly Tag[],
  at: string,
): { readonly tag: Tag; readonly object: JsonObject } => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const name = value[key];
  if (name === undefined) throw missing(`${at}.${key}`);
  const tag = tags.find((one) => one === name);
  if (tag === undefined) throw invalidChoice(`${at}.${key}`, name, tags);
  return { tag, object: value };
};

/** OpenAI uses a separate code for each kind of limit. */
const outOfRange = (
  issue: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall,
  param: string,
  side: 'above' | 'below',
  bound: number,
): GatewayError => {
  const { origin, input, inclusive = true, message: kind } = issue;
  const limit = side === 'above' ? 'max' : 'min';
  const limitWord = side === 'above' ? 'maximum' : 'minimum';
  if (origin === 'string' || origin === 'array') {
    const length = (input as string | readonly unknown[]).length;
    const noun = origin === 'string' ? 'a string' : 'an array';
    const tooWhat = side === 'above' ? 'too long' : 'too short';
    return gatewayError('invalid_value', {
      param,
      code: `${origin}_${side}_${limit}_length`,
      message: `Invalid '${param}': ${origin} ${tooWhat}. Expected ${noun} with ${limitWord} length ${bound}, but got ${noun} with length ${length} instead.`,
    });
  }
  const comparison = side === 'above' ? (inclusive ? '<=' : '<') : inclusive ? '>=' : '>';
  return gatewayError('invalid_value', {
    param,
    code: `${kind}_${side}_${limit}_value`,
    message: `Invalid '${param}': ${kind} ${side} ${limitWord} value. Expected a value ${comparison} ${bound}, but got ${String(input)} instead.`,
  });
};

const article = (expected: string): string => {
  const words: Record<string, string> = {
    string: 'a string',
    number: 'a decimal',
    int: 'an integer',
    boolean: 'a boolean',
    array: 'an array',
    object: 'an object',
    record: 'an object',
    null: 'null',
  };
  return words[expected] ?? `a ${expected}`;
};

const nameOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' && !Number.isFinite(value)) return 'a number that is too large';
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal';
  if (typeof value === 'object') return 'an object';
  return `a ${typeof value}`;
};

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

/** Precedes the output of a failed tool in the model's input. */
const FAILED = 'Error: The tool call failed.';

/** The output of a tool that failed. Backends have no field for a failure, so it is added as text. */
export const failedOutput = (output: string | readonly Part[]): string | readonly Part[] => {
  if (typeof output !== 'string') return [{ kind: 'text', text: FAILED }, ...output];
  return output === '' ? FAILED : `${FAILED}\n${output}`;
};

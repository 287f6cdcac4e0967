import { isJsonObject, type Json, type JsonObject, resolvePointer } from '../kit/json/json.ts';
import { quoted } from '../kit/text/display.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import { refKey, refsOf, type Tool, type ToolRef } from '../canonical/request/tool.ts';

/** How many subschemas of one request are checked. The backend checks the rest. */
export interface SchemaBudget {
  left: number;
}

interface Check {
  readonly budget: SchemaBudget;
  /** References by JSON pointer, with their places. */
  readonly references: [place: string, pointer: string][];
  /** A subschema has its own `$id`: pointers may start there. */
  hasIds: boolean;
}

/** Many times what 128 large tools have. */
const MAX_SUBSCHEMAS = 20_000;

export const schemaBudget = (): SchemaBudget => ({ left: MAX_SUBSCHEMAS });

/**
 * Says what is wrong with the schema of a function's parameters; null: nothing that every dialect of JSON Schema
 * rejects. Patterns differ between dialects: they are left to the backend's own error, and so are other references
 * than JSON pointers.
 */
export const schemaProblem = (schema: JsonObject, budget: SchemaBudget): string | null => {
  const { type } = schema;
  const types = Array.isArray(type) ? (type as readonly Json[]) : [type];
  if ((typeof type === 'string' || Array.isArray(type)) && !types.includes('object')) {
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${shown(type)}'.`;
  }
  const check: Check = { budget, references: [], hasIds: false };
  const problem = problemAt('', schema, check);
  if (problem !== null || check.hasIds || budget.left < 0) return problem;
  const broken = check.references.find(([, pointer]) => resolvePointer(schema, pointer) === undefined);
  return broken === undefined ? null : `in '${quoted(broken[0])}': '${quoted(broken[1])}' does not exist.`;
};

const problemAt = (at: string, schema: Json | undefined, check: Check): string | null => {
  check.budget.left -= 1;
  if (typeof schema === 'boolean' || check.budget.left < 0) return null;
  if (!isJsonObject(schema)) return `in '${quoted(at)}': expected a schema, but got ${shown(schema)}.`;
  for (const [key, value] of Object.entries(schema)) {
    const keyword = KEYWORDS.get(key);
    if (value === undefined) continue;
    if (at !== '' && (key === '$id' || key === 'id')) check.hasIds = true;
    if (keyword === undefined) continue;
    const place = at === '' ? key : `${at}.${key}`;
    if (!keyword.isRight(value)) {
      return `in '${quoted(place)}': expected ${keyword.expected}, but got ${shown(value)}.`;
    }
    if (key === '$ref' && `${value as string}/`.startsWith('#/'))
      check.references.push([place, value as string]);
    if (keyword.holds === undefined) continue;
    const inner =
      keyword.holds === 'schema' && !Array.isArray(value)
        ? [['', value]]
        : Object.entries(value as JsonObject);
    for (const [name, subschema] of inner as [string, Json][]) {
      // `dependencies` holds lists of names, too.
      if (Array.isArray(subschema) && key === 'dependencies') continue;
      const problem = problemAt(name === '' ? place : `${place}.${name}`, subschema, check);
      if (problem !== null) return problem;
    }
  }
  return null;
};

interface Keyword {
  readonly isRight: (value: Json) => boolean;
  readonly expected: string;
  /** Subschemas in the value: the value itself, or its members. */
  readonly holds?: 'schema' | 'schemas';
}

const isNames = (value: Json | undefined): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === 'string');
const isType = (value: Json): boolean => typeof value === 'string' && TYPES.has(value);
const TYPES = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

const SCHEMA: Keyword = { isRight: () => true, expected: 'a schema', holds: 'schema' };
const LIST: Keyword = { isRight: Array.isArray, expected: 'a list of schemas', holds: 'schemas' };
const BY_NAME: Keyword = { isRight: isJsonObject, expected: 'an object of schemas', holds: 'schemas' };
const NUMBER: Keyword = { isRight: (value) => typeof value === 'number', expected: 'a number' };
const LIMIT: Keyword = {
  // Draft 4: a boolean says whether the limit itself is excluded.
  isRight: (value) => typeof value === 'number' || typeof value === 'boolean',
  expected: 'a number',
};
const COUNT: Keyword = {
  isRight: (value) => Number.isInteger(value) && (value as number) >= 0,
  expected: 'a whole number',
};
const TEXT: Keyword = { isRight: (value) => typeof value === 'string', expected: 'a string' };

const named = (keyword: Keyword, names: string): readonly (readonly [string, Keyword])[] =>
  names.split(' ').map((name) => [name, keyword]);

const KEYWORDS: ReadonlyMap<string, Keyword> = new Map([
  ...named(BY_NAME, 'properties patternProperties $defs definitions dependentSchemas dependencies'),
  ...named(LIST, 'allOf anyOf oneOf prefixItems'),
  ...named(SCHEMA, 'items additionalProperties additionalItems unevaluatedProperties unevaluatedItems'),
  ...named(SCHEMA, 'contains propertyNames not if then else'),
  ...named(NUMBER, 'minimum maximum multipleOf'),
  ...named(LIMIT, 'exclusiveMinimum exclusiveMaximum'),
  ...named(COUNT, 'minLength maxLength minItems maxItems minProperties maxProperties'),
  ...named(TEXT, '$ref pattern'),
  ...named({ isRight: isNames, expected: 'a list of names' }, 'required'),
  ...named({ isRight: Array.isArray, expected: 'a list' }, 'enum'),
  ...named(
    {
      isRight: (value) => (Array.isArray(value) ? value.length > 0 && value.every(isType) : isType(value)),
      expected: 'a type of JSON Schema',
    },
    'type',
  ),
  ...named(
    {
      isRight: (value) => isJsonObject(value) && Object.values(value).every(isNames),
      expected: 'an object of lists of names',
    },
    'dependentRequired',
  ),
]);

const shown = (value: Json | undefined): string => {
  if (Array.isArray(value)) return 'a list';
  return isJsonObject(value) ? 'an object' : quoted(JSON.stringify(value) ?? 'nothing');
};

/**
 * Throws if a tool name is used twice or a schema is invalid. `placeOf` returns the location of a tool in the body,
 * `schemaField` is the API's name for the schema of a tool.
 */
export const checkTools = (
  tools: readonly Tool[],
  placeOf: (index: number) => string,
  schemaField: 'parameters' | 'input_schema' = 'parameters',
  budget: SchemaBudget = schemaBudget(),
): void => {
  const seen = new Set<string>();
  for (const [index, tool] of tools.entries()) {
    if (tool.kind === 'hosted') continue;
    const { name } = tool;
    if (seen.has(name)) {
      const param = `${placeOf(index)}.name`;
      throw gatewayError('invalid_value', {
        param,
        message: `Invalid '${param}': duplicate tool name '${quoted(name)}'.`,
      });
    }
    seen.add(name);
    const wrong =
      tool.kind === 'function' && tool.parameters !== null ? schemaProblem(tool.parameters, budget) : null;
    if (wrong === null) continue;
    throw gatewayError('invalid_value', {
      param: `${placeOf(index)}.${schemaField}`,
      code: 'invalid_function_parameters',
      message: `Invalid schema for function '${quoted(name)}': ${wrong}`,
    });
  }
};

/** Throws if a tool choice names a tool that is not declared. */
export const checkDeclared = (
  refs: readonly ToolRef[],
  tools: readonly Tool[],
  paramOf: (index: number) => string,
  place: 'tools' | 'functions' = 'tools',
): void => {
  const declared = new Set(tools.flatMap(refsOf).map(refKey));
  const index = refs.findIndex((ref) => !declared.has(refKey(ref)));
  const ref = refs[index];
  if (ref === undefined) return;
  throw gatewayError('invalid_value', {
    param: paramOf(index),
    message: `Tool choice '${quoted(ref.kind === 'hosted' ? ref.raw.type : ref.name)}' not found in '${place}' parameter.`,
  });
};

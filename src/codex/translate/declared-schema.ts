import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';

/**
 * Rewrites a schema for the app-server, which would change its meaning on the way to the model: booleans
 * become strings, lists of any type become lists of strings, constants become strings, and a description
 * without a type is lost. This form survives. Keywords that the app-server drops, such as `pattern`, are
 * lost.
 */
export const declaredSchema = (schema: JsonObject): JsonObject => {
  const said: Record<string, Json | undefined> = { ...schema };
  for (const key of MAPS) if (isJsonObject(schema[key])) said[key] = eachMember(schema[key]);
  for (const key of LISTS) if (Array.isArray(schema[key])) said[key] = (schema[key] as Json[]).map(subschema);
  if (schema['items'] !== undefined) said['items'] = subschema(schema['items']);
  else if (mayBeList(schema)) said['items'] = {};
  if (isJsonObject(schema['additionalProperties'])) {
    said['additionalProperties'] = declaredSchema(schema['additionalProperties']);
  }
  const values = valuesOf(schema);
  if (schema['type'] === undefined && values !== null) said['type'] = typesOf(values);
  if (schema['description'] !== undefined && !TYPE_KEYWORDS.some((key) => said[key] !== undefined)) {
    said['anyOf'] = [{}];
  }
  return said;
};

const MAPS = ['properties', '$defs', 'definitions'] as const;
const LISTS = ['anyOf', 'oneOf', 'allOf'] as const;

/** With one of these a schema keeps its description. */
const TYPE_KEYWORDS = ['type', 'enum', 'const', '$ref', 'properties', 'items', ...LISTS] as const;

/** A schema that matches nothing: no value is both a string and a number. */
const NOTHING: JsonObject = { allOf: [{ type: 'string' }, { type: 'number' }] };

const subschema = (schema: Json): Json => {
  if (typeof schema === 'boolean') return schema ? {} : NOTHING;
  return isJsonObject(schema) ? declaredSchema(schema) : schema;
};

const eachMember = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, subschema(schema ?? true)]));

const mayBeList = ({ type }: JsonObject): boolean =>
  type === 'array' || (Array.isArray(type) && (type as readonly Json[]).includes('array'));

const valuesOf = ({ enum: values, const: value }: JsonObject): readonly Json[] | null => {
  if (Array.isArray(values)) return values as readonly Json[];
  return value === undefined ? null : [value];
};

const typesOf = (values: readonly Json[]): Json => {
  const types = [...new Set(values.map(typeOf))];
  return types.length === 1 ? (types[0] ?? 'string') : types;
};

const typeOf = (value: Json): string => {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
};

import { isJsonObject, type Json, type JsonObject, resolvePointer } from '../kit/json/json.ts';

/** Whether a value is valid for a schema, for the keywords that the sampler supports. Not a general validator. */
export const matches = (
  schema: Json | undefined,
  value: Json,
  root: Json,
  /** References followed, to detect cycles. */
  followed: readonly string[] = [],
): boolean => {
  if (!isJsonObject(schema)) return schema !== false;
  const target = schema['$ref'];
  if (typeof target === 'string') {
    if (followed.includes(target)) return false;
    if (!matches(resolvePointer(root, target), value, root, [...followed, target])) return false;
  }
  const fits = (one: Json): boolean => matches(one, value, root, followed);
  return (
    matchesType(schema['type'], value) &&
    (schema['const'] === undefined || same(schema['const'], value)) &&
    (!Array.isArray(schema['enum']) || listOfJson(schema['enum']).some((one) => same(one, value))) &&
    listOfJson(schema['allOf']).every(fits) &&
    (!Array.isArray(schema['anyOf']) || listOfJson(schema['anyOf']).some(fits)) &&
    (!Array.isArray(schema['oneOf']) || listOfJson(schema['oneOf']).filter(fits).length === 1) &&
    (schema['not'] === undefined || !fits(schema['not'])) &&
    (typeof value !== 'string' || matchesString(schema, value)) &&
    (typeof value !== 'number' || matchesNumber(schema, value)) &&
    (!Array.isArray(value) || matchesArray(schema, listOfJson(value), root)) &&
    (!isJsonObject(value) || matchesObject(schema, value, root))
  );
};

export const listOfJson = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);

const typeOf = (value: Json): string => {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

const matchesType = (type: Json | undefined, value: Json): boolean => {
  if (type === undefined) return true;
  const types = Array.isArray(type) ? listOfJson(type) : [type];
  return types.includes(typeOf(value)) || (types.includes('integer') && Number.isInteger(value));
};

const same = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);

export const limit = (schema: JsonObject, key: string, otherwise: number): number => {
  const value = schema[key];
  return typeof value === 'number' ? value : otherwise;
};

const matchesString = (schema: JsonObject, value: string): boolean => {
  const length = Array.from(value).length;
  return (
    length >= limit(schema, 'minLength', 0) &&
    length <= limit(schema, 'maxLength', Infinity) &&
    fitsPattern(schema['pattern'], value)
  );
};

export const fitsPattern = (pattern: Json | undefined, value: string): boolean => {
  if (typeof pattern !== 'string') return true;
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    // Not a valid JavaScript pattern: unknown.
    return true;
  }
};

const matchesNumber = (schema: JsonObject, value: number): boolean =>
  value >= limit(schema, 'minimum', -Infinity) &&
  value <= limit(schema, 'maximum', Infinity) &&
  value > limit(schema, 'exclusiveMinimum', -Infinity) &&
  value < limit(schema, 'exclusiveMaximum', Infinity) &&
  (schema['multipleOf'] === undefined || Number.isInteger(value / limit(schema, 'multipleOf', value)));

const matchesArray = (schema: JsonObject, value: readonly Json[], root: Json): boolean => {
  const prefix = listOfJson(schema['prefixItems']);
  return (
    value.length >= limit(schema, 'minItems', 0) &&
    value.length <= limit(schema, 'maxItems', Infinity) &&
    (schema['uniqueItems'] !== true ||
      new Set(value.map((one) => JSON.stringify(one))).size === value.length) &&
    value.every((one, index) => matches(prefix[index] ?? schema['items'], one, root))
  );
};

const matchesObject = (schema: JsonObject, value: JsonObject, root: Json): boolean => {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const keys = Object.keys(value);
  return (
    keys.length >= limit(schema, 'minProperties', 0) &&
    keys.length <= limit(schema, 'maxProperties', Infinity) &&
    listOfJson(schema['required']).every((key) => typeof key !== 'string' || Object.hasOwn(value, key)) &&
    keys.every((key) =>
      matches(
        Object.hasOwn(properties, key) ? properties[key] : schema['additionalProperties'],
        value[key] ?? null,
        root,
      ),
    )
  );
};

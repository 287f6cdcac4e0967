import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { list } from './schema-match.ts';

/** A schema that requires what both require. A conflict results in an empty `type` or `enum`. */
export const mergeSchemas = (a: JsonObject, b: JsonObject): JsonObject => {
  const merged: Record<string, Json | undefined> = { ...a };
  for (const [key, theirs] of Object.entries(b)) {
    const ours = merged[key];
    merged[key] =
      ours === undefined || theirs === undefined ? (theirs ?? ours) : mergeKeyword(key, ours, theirs);
  }
  return merged;
};

const LOWER = new Set(['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties']);
const UPPER = new Set(['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties']);

const mergeKeyword = (key: string, ours: Json, theirs: Json): Json => {
  if (LOWER.has(key)) return Math.max(Number(ours), Number(theirs));
  if (UPPER.has(key)) return Math.min(Number(ours), Number(theirs));
  switch (key) {
    case 'type':
      return commonTypes(asList(ours), asList(theirs));
    case 'enum':
      return list(ours).filter((one) =>
        list(theirs).some((other) => JSON.stringify(one) === JSON.stringify(other)),
      );
    case 'required':
      return [...new Set([...list(ours), ...list(theirs)])];
    case 'properties':
      return mergeProperties(ours, theirs);
    case 'items':
    case 'additionalProperties':
      return ours === false || theirs === false ? false : { allOf: [ours, theirs] };
    case 'allOf':
      return [...list(ours), ...list(theirs)];
    case 'anyOf':
    case 'oneOf':
      return list(ours).flatMap((one) => list(theirs).map((other) => ({ allOf: [one, other] })));
    default:
      return theirs;
  }
};

const asList = (value: Json): readonly Json[] => (Array.isArray(value) ? list(value) : [value]);

const commonTypes = (ours: readonly Json[], theirs: readonly Json[]): readonly Json[] => [
  ...ours.filter((type) => theirs.includes(type) || (type === 'integer' && theirs.includes('number'))),
  ...theirs.filter((type) => type === 'integer' && ours.includes('number') && !ours.includes('integer')),
];

const mergeProperties = (ours: Json, theirs: Json): Json => {
  if (!isJsonObject(ours) || !isJsonObject(theirs)) return theirs;
  const merged: Record<string, Json | undefined> = { ...ours };
  for (const [key, schema] of Object.entries(theirs)) {
    const known = merged[key];
    merged[key] = known === undefined ? schema : { allOf: [known, schema ?? true] };
  }
  return merged;
};

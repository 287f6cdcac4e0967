import { isJsonObject, type Json, type JsonObject, resolvePointer } from '../kit/json/json.ts';

/** Whether a value is valid for a schema, for the keywords that the sampler supports. Not a general validator. */
const matches = (
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

const limit = (schema: JsonObject, key: string, otherwise: number): number => {
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

const fitsPattern = (pattern: Json | undefined, value: string): boolean => {
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

/** The source of names and numbers. */
export interface Hints {
  /** An enum option named here is chosen. */
  readonly text: string;
  readonly phrases: readonly string[];
  readonly numbers: readonly number[];
  /** Used when there are no more phrases. */
  readonly word: string;
}

interface Sampling extends Hints {
  readonly root: Json;
  /** Phrases and numbers used so far: two arguments get two different names. */
  readonly used: { phrases: number; numbers: number };
}

/** The position in the schema. */
interface Spot {
  /** References being followed, to detect cycles. */
  readonly refs: readonly string[];
  /** Makes values differ where an array needs unique ones. */
  readonly salt: number;
}

const NO_HINTS: Hints = { text: '', phrases: [], numbers: [], word: 'example' };

/** A small value valid for the schema, with names and numbers from the hints; undefined if none was found. */
export const sampleValue = (schema: Json, hints = NO_HINTS): Json | undefined =>
  sample(schema, { ...hints, root: schema, used: { phrases: 0, numbers: 0 } }, { refs: [], salt: 0 });

/** Limit for a small value. */
const MAX_CHARS = 10_000;
const MAX_MEMBERS = 1_000;

const sample = (schema: Json | undefined, sampling: Sampling, from: Spot): Json | undefined => {
  if (schema === false) return undefined;
  const flat = flatten(schema ?? true, sampling, from.refs);
  if (flat === null) return undefined;
  const spot = { ...from, refs: flat.refs };
  for (const union of ['anyOf', 'oneOf']) {
    if (!Array.isArray(flat.schema[union])) continue;
    const { [union]: branches, ...rest } = flat.schema;
    for (const branch of listOfJson(branches)) {
      const value = sample({ allOf: [rest, branch] }, sampling, spot);
      if (value !== undefined && matches(flat.schema, value, sampling.root)) return value;
    }
    return undefined;
  }
  return samplePlain(flat.schema, sampling, spot);
};

/** Resolves `$ref` and merges `allOf`. */
const flatten = (
  schema: Json,
  sampling: Sampling,
  refs: readonly string[],
): { schema: JsonObject; refs: readonly string[] } | null => {
  if (schema === true) return { schema: {}, refs };
  if (!isJsonObject(schema)) return null;
  const { $ref: target, allOf, ...own } = schema;
  const parts = [...listOfJson(allOf)];
  let followed = refs;
  if (typeof target === 'string') {
    const found = resolvePointer(sampling.root, target);
    if (found === undefined || refs.includes(target)) return null;
    followed = [...refs, target];
    parts.unshift(found);
  }
  let merged: JsonObject = own;
  for (const part of parts) {
    const flat = flatten(part, sampling, followed);
    if (flat === null) return null;
    merged = mergeSchemas(flat.schema, merged);
    followed = flat.refs;
  }
  return { schema: merged, refs: followed };
};

const samplePlain = (schema: JsonObject, sampling: Sampling, spot: Spot): Json | undefined => {
  const fits = (value: Json): boolean => matches(schema, value, sampling.root);
  if (schema['const'] !== undefined) return fits(schema['const']) ? schema['const'] : undefined;
  if (Array.isArray(schema['enum'])) return pickEnum(listOfJson(schema['enum']).filter(fits), sampling, spot);
  for (const type of typesOf(schema)) {
    const value = sampleType(type, schema, sampling, spot);
    if (value !== undefined && fits(value)) return value;
  }
  return undefined;
};

/** The option named by the user, else the first. */
const pickEnum = (options: readonly Json[], sampling: Sampling, spot: Spot): Json | undefined => {
  const lower = sampling.text.toLowerCase();
  const named = options.find(
    (one) => typeof one === 'string' && one !== '' && lower.includes(one.toLowerCase()),
  );
  return spot.salt === 0 && named !== undefined ? named : options[spot.salt % Math.max(1, options.length)];
};

/** Null comes last, because it shows the least. */
const typesOf = (schema: JsonObject): readonly string[] => {
  const type = schema['type'];
  if (typeof type === 'string') return [type];
  if (Array.isArray(type)) {
    const names = listOfJson(type).filter((name) => typeof name === 'string');
    return names.toSorted((a, b) => Number(a === 'null') - Number(b === 'null'));
  }
  const has = (...keys: readonly string[]): boolean => keys.some((key) => schema[key] !== undefined);
  if (has('properties', 'required', 'additionalProperties', 'minProperties')) return ['object'];
  if (has('items', 'prefixItems', 'minItems')) return ['array'];
  if (has('minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf')) return ['number'];
  return ['string', 'number', 'boolean', 'object', 'array', 'null'];
};

const sampleType = (type: string, schema: JsonObject, sampling: Sampling, spot: Spot): Json | undefined => {
  switch (type) {
    case 'string':
      return sampleString(schema, sampling, spot);
    case 'integer':
    case 'number':
      return sampleNumber(schema, sampling, spot);
    case 'boolean':
      return spot.salt % 2 === 0;
    case 'array':
      return sampleArray(schema, sampling, spot);
    case 'object':
      return sampleObject(schema, sampling, spot);
    case 'null':
      return null;
    default:
      return undefined;
  }
};

const FORMATS: Readonly<Record<string, (salt: number) => string>> = {
  date: (salt) => day(salt),
  'date-time': (salt) => `${day(salt)}T12:00:00Z`,
  time: (salt) => `12:00:${twoDigits(salt % 60)}Z`,
  duration: (salt) => `P${String(salt + 1)}D`,
  email: (salt) => `demo${salt === 0 ? '' : String(salt)}@example.com`,
  hostname: (salt) => (salt === 0 ? 'example.com' : `demo${String(salt)}.example.com`),
  ipv4: (salt) => `192.0.2.${String(1 + (salt % 254))}`,
  ipv6: (salt) => `2001:db8::${(salt + 1).toString(16)}`,
  uuid: (salt) => `00000000-0000-4000-8000-${salt.toString(16).padStart(12, '0')}`,
  uri: (salt) => `https://example.com/${salt === 0 ? '' : String(salt)}`,
  'uri-reference': (salt) => `https://example.com/${salt === 0 ? '' : String(salt)}`,
};
const twoDigits = (value: number): string => String(value).padStart(2, '0');
const day = (salt: number): string => `2026-01-${twoDigits(1 + (salt % 28))}`;

/** Candidates for a pattern; patterns are not analysed. */
const COMMON = [
  'demo',
  'Demo',
  'DEMO',
  'demo-1',
  'A1',
  'a',
  'A',
  '1',
  '12',
  '123',
  '1234',
  '12345',
  '2026-01-01',
  '#000000',
];

const sampleString = (schema: JsonObject, sampling: Sampling, spot: Spot): string | undefined => {
  if (limit(schema, 'minLength', 0) > MAX_CHARS) return undefined;
  const format = schema['format'];
  const known = typeof format === 'string' ? FORMATS[format] : undefined;
  if (known !== undefined) return known(spot.salt);
  const fit = (text: string): string => {
    const long = Array.from(text.padEnd(limit(schema, 'minLength', 0), 'demo'));
    return long.slice(0, limit(schema, 'maxLength', long.length)).join('');
  };
  const phrase = sampling.phrases[sampling.used.phrases] ?? sampling.word;
  sampling.used.phrases += 1;
  const first = fit(spot.salt === 0 ? phrase : `${phrase} ${String(spot.salt + 1)}`);
  const candidates = [first, ...sampling.phrases.map(fit), ...COMMON.map(fit)];
  return candidates.find((one) => fitsPattern(schema['pattern'], one)) ?? first;
};

const sampleNumber = (schema: JsonObject, sampling: Sampling, spot: Spot): number | undefined => {
  const step = limit(schema, 'multipleOf', 1);
  const low = Math.max(limit(schema, 'minimum', -Infinity), limit(schema, 'exclusiveMinimum', -Infinity));
  const high = Math.min(limit(schema, 'maximum', Infinity), limit(schema, 'exclusiveMaximum', Infinity));
  const named = sampling.numbers[sampling.used.numbers];
  sampling.used.numbers += 1;
  const clamped = Math.min(Math.max(1, low), high);
  const onStep = Math.ceil(clamped / step) * step;
  const candidates = [
    ...(named === undefined ? [] : [named + spot.salt]),
    onStep + spot.salt * step,
    onStep + (spot.salt + 1) * step,
    Math.floor(high / step) * step - spot.salt * step,
    (Math.floor(high / step) - 1 - spot.salt) * step,
    // No integer between the limits: use the middle.
    (low + high) / 2,
    0,
  ];
  return candidates.find((one) => Number.isFinite(one) && matches(schema, one, sampling.root));
};

const sampleArray = (schema: JsonObject, sampling: Sampling, spot: Spot): Json | undefined => {
  const prefix = listOfJson(schema['prefixItems']);
  const least = limit(schema, 'minItems', 0);
  if (Math.max(least, prefix.length) > MAX_MEMBERS) return undefined;
  const wanted = Math.min(Math.max(least, prefix.length, 1), limit(schema, 'maxItems', Infinity));
  const unique = schema['uniqueItems'] === true;
  const values: Json[] = [];
  const seen = new Set<string>();
  // Some extra attempts: two salts may give the same value.
  for (let attempt = 0; values.length < wanted && attempt < 2 * wanted + 8; attempt += 1) {
    const salt = unique ? attempt : spot.salt;
    const one = sample(prefix[values.length] ?? schema['items'], sampling, { ...spot, salt });
    if (one === undefined) break;
    const known = JSON.stringify(one);
    if (unique && seen.has(known)) continue;
    seen.add(known);
    values.push(one);
  }
  return values.length >= least ? values : undefined;
};

const sampleObject = (schema: JsonObject, sampling: Sampling, spot: Spot): Json | undefined => {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const others = schema['additionalProperties'];
  const value: Record<string, Json> = {};
  const add = (key: string): boolean => {
    const declared = Object.hasOwn(properties, key) ? properties[key] : others;
    const one = sample(declared, sampling, spot);
    if (one !== undefined)
      Object.defineProperty(value, key, { value: one, enumerable: true, configurable: true });
    return one !== undefined;
  };
  const required = listOfJson(schema['required']).filter((key) => typeof key === 'string');
  // In order of declaration, as a model writes them.
  const ordered = [...Object.keys(properties).filter((key) => required.includes(key)), ...required];
  if (!new Set(ordered).keys().every(add)) return undefined;

  const least = limit(schema, 'minProperties', 0);
  if (least > MAX_MEMBERS) return undefined;
  const more = [
    ...Object.keys(properties),
    ...Array.from({ length: least }, (_, index) => `key${String(index + 1)}`),
  ];
  for (const key of more) if (Object.keys(value).length < least && !Object.hasOwn(value, key)) add(key);
  return value;
};

/** Arguments valid for a tool's schema. If all are optional, all are included. */
export const sampleArguments = (parameters: JsonObject, hints?: Hints): Json | undefined => {
  const properties = isJsonObject(parameters['properties']) ? Object.keys(parameters['properties']) : [];
  const full =
    listOfJson(parameters['required']).length === 0
      ? sampleValue({ ...parameters, required: properties }, hints)
      : undefined;
  return full ?? sampleValue({ type: 'object', ...parameters }, hints);
};

/** A schema that requires what both require. A conflict results in an empty `type` or `enum`. */
const mergeSchemas = (a: JsonObject, b: JsonObject): JsonObject => {
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
      return listOfJson(ours).filter((one) =>
        listOfJson(theirs).some((other) => JSON.stringify(one) === JSON.stringify(other)),
      );
    case 'required':
      return [...new Set([...listOfJson(ours), ...listOfJson(theirs)])];
    case 'properties':
      return mergeProperties(ours, theirs);
    case 'items':
    case 'additionalProperties':
      return ours === false || theirs === false ? false : { allOf: [ours, theirs] };
    case 'allOf':
      return [...listOfJson(ours), ...listOfJson(theirs)];
    case 'anyOf':
    case 'oneOf':
      return listOfJson(ours).flatMap((one) => listOfJson(theirs).map((other) => ({ allOf: [one, other] })));
    default:
      return theirs;
  }
};

const asList = (value: Json): readonly Json[] => (Array.isArray(value) ? listOfJson(value) : [value]);

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

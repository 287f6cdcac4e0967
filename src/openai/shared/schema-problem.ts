import { isJsonObject, type Json, type JsonObject } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/quote.ts';

/** How much of the schemas of one request is looked at; what stands behind that is left to the backend. */
export interface SchemaBudget {
  /** Subschemas. */
  left: number;
  /** Characters of patterns. */
  patternChars: number;
}

/** Many times what 128 long tools hold. */
const MAX_SUBSCHEMAS = 20_000;
/** They are parsed in some 10 ms. */
const MAX_PATTERN_CHARS = 100_000;

export const schemaBudget = (): SchemaBudget => ({
  left: MAX_SUBSCHEMAS,
  patternChars: MAX_PATTERN_CHARS,
});

/** A subschema that is still to be looked at, and the way to it. */
interface Place {
  readonly value: Json | undefined;
  readonly key: string;
  readonly parent: Place | null;
}

/** What a rule needs besides what it is about. */
interface Looking {
  readonly open: (place: Place) => void;
  readonly isPattern: (text: string) => boolean;
}

/** What a keyword may hold: says what is wrong, and opens the subschemas that are in it. */
type Rule = (value: Json, key: string, parent: Place, looking: Looking) => string | null;

/**
 * What is wrong with the schema of a function's parameters; null: nothing that would be wrong in every
 * dialect. It is looked at, not compiled: that would cost a request more than all the rest of its reading.
 * Keywords and formats that nobody knows are allowed, and so is a schema that says nothing.
 */
export const schemaProblem = (schema: JsonObject, budget: SchemaBudget): string | null => {
  const { type } = schema;
  const types = Array.isArray(type) ? (type as readonly Json[]) : [type];
  if ((typeof type === 'string' || Array.isArray(type)) && !types.includes('object')) {
    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${shown(type)}'.`;
  }
  const references = new References(schema);
  const places: Place[] = [{ value: schema, key: '', parent: null }];
  const looking: Looking = {
    open(place) {
      budget.left -= 1;
      if (budget.left > 0) places.push(place);
    },
    isPattern(text) {
      budget.patternChars -= text.length;
      return budget.patternChars < 0 || isPattern(text);
    },
  };
  for (let at = places.pop(); at !== undefined; at = places.pop()) {
    const wrong = subschemaProblem(at, looking, references);
    if (wrong !== null) return wrong;
  }
  return budget.left > 0 ? references.problem() : null;
};

const subschemaProblem = (at: Place, looking: Looking, references: References): string | null => {
  const { value } = at;
  if (typeof value === 'boolean') return null;
  if (!isJsonObject(value)) return told(at, `expected a schema, but got ${shown(value)}.`);
  for (const key of Object.keys(value)) {
    const held = value[key];
    const wrong = held === undefined ? null : (RULES.get(key)?.(held, key, at, looking) ?? null);
    if (wrong !== null) return told({ value: held, key, parent: at }, wrong);
  }
  references.note(value, at);
  return null;
};

/** The references of one schema. They are followed when all of it has been seen, and no further than one step. */
class References {
  readonly #root: JsonObject;
  readonly #all: { readonly to: string; readonly at: Place }[] = [];
  readonly #anchors = new Set<string>();
  /** Schemas inside have names of their own, and references are read from there. */
  #hasNames = false;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  note(schema: JsonObject, at: Place): void {
    const { $ref, $anchor, $dynamicAnchor, $id, id } = schema;
    if (typeof $ref === 'string') this.#all.push({ to: $ref, at });
    for (const name of [$anchor, $dynamicAnchor]) if (typeof name === 'string') this.#anchors.add(name);
    for (const name of [$id, id]) {
      if (typeof name !== 'string') continue;
      if (name.startsWith('#')) this.#anchors.add(name.slice(1));
      else if (at.parent !== null) this.#hasNames = true;
    }
  }

  problem(): string | null {
    if (this.#hasNames) return null;
    const broken = this.#all.find(({ to }) => to.startsWith('#') && !this.#leadsSomewhere(to.slice(1)));
    if (broken === undefined) return null;
    return told(broken.at, `reference '${quoted(broken.to)}' does not exist.`);
  }

  #leadsSomewhere(fragment: string): boolean {
    if (!fragment.startsWith('/')) return fragment === '' || this.#anchors.has(fragment);
    let found: Json | undefined = this.#root;
    for (const step of fragment.slice(1).split('/')) {
      const key = unescaped(step);
      if (Array.isArray(found)) found = (found as readonly Json[])[Number(key)];
      else if (isJsonObject(found) && Object.hasOwn(found, key)) found = found[key];
      else return false;
    }
    return isSchema(found);
  }
}

const unescaped = (step: string): string => {
  const plain = /%[0-9a-f]{2}/i.test(step) ? decoded(step) : step;
  return plain.replaceAll('~1', '/').replaceAll('~0', '~');
};

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const isSchema = (value: Json | undefined): boolean => typeof value === 'boolean' || isJsonObject(value);

const listOf = (value: Json): readonly Json[] | null =>
  Array.isArray(value) ? (value as readonly Json[]) : null;

const one: Rule = (value, key, parent, { open }) => {
  open({ value, key, parent });
  return null;
};

const each: Rule = (value, key, parent, { open }) => {
  const all = listOf(value);
  if (all === null) return `expected a list of schemas, but got ${shown(value)}.`;
  const at = { value, key, parent };
  for (const [index, member] of all.entries()) open({ value: member, key: String(index), parent: at });
  return null;
};

const byName: Rule = (value, key, parent, { open }) => {
  if (!isJsonObject(value)) return `expected an object of schemas, but got ${shown(value)}.`;
  const at = { value, key, parent };
  for (const name of Object.keys(value)) open({ value: value[name], key: name, parent: at });
  return null;
};

const byPattern: Rule = (value, key, parent, looking) => {
  const broken = isJsonObject(value)
    ? Object.keys(value).find((name) => !looking.isPattern(name))
    : undefined;
  return broken === undefined ? byName(value, key, parent, looking) : notAPattern(broken);
};

/** The older form: a list has a schema for each place. */
const items: Rule = (value, ...place) => (Array.isArray(value) ? each : one)(value, ...place);

const names: Rule = (value) =>
  listOf(value)?.every((name) => typeof name === 'string') === true
    ? null
    : `expected a list of names, but got ${shown(value)}.`;

const namesByName: Rule = (value, key, parent, looking) => {
  if (!isJsonObject(value)) return `expected an object, but got ${shown(value)}.`;
  const at = { value, key, parent };
  for (const name of Object.keys(value)) {
    const member = value[name];
    const wrong = Array.isArray(member) ? names(member, name, at, looking) : null;
    if (wrong !== null) return `'${quoted(name)}': ${wrong}`;
    if (!Array.isArray(member)) looking.open({ value: member, key: name, parent: at });
  }
  return null;
};

const TYPES: ReadonlySet<Json> = new Set([
  'object',
  'array',
  'string',
  'number',
  'integer',
  'boolean',
  'null',
]);

const type: Rule = (value) => {
  const all = listOf(value) ?? [value];
  return all.length > 0 && all.every((word) => TYPES.has(word))
    ? null
    : `${shown(value)} is not a type of JSON Schema.`;
};

const holds =
  (isRight: (value: Json) => boolean, expected: string): Rule =>
  (value) =>
    isRight(value) ? null : `expected ${expected}, but got ${shown(value)}.`;

const text = holds((value) => typeof value === 'string', 'a text');
const number = holds((value) => typeof value === 'number', 'a number');
/** The older form: whether the limit itself is out. */
const limit = holds((value) => typeof value === 'number' || typeof value === 'boolean', 'a number');
const count = holds((value) => Number.isInteger(value) && (value as number) >= 0, 'a whole number');

/**
 * Forms of regular expressions that other languages have, and backends take. Classes of Unicode are among them,
 * also those of our own language: one takes milliseconds to parse.
 */
const OTHER_DIALECT = /\(\?(?:P[<=>]|[a-zA-Z-]+\)|[>#|(])|[*+?}]\+|\\[pP]|\[\[?:/;

/** A longer one is nobody's mistake in writing, and takes its time. */
const MAX_PATTERN = 10_000;

const isPattern = (pattern: string): boolean =>
  pattern.length > MAX_PATTERN || OTHER_DIALECT.test(pattern) || parses(pattern, 'u') || parses(pattern, '');

const parses = (pattern: string, flags: string): boolean => {
  try {
    return new RegExp(pattern, flags).source !== '';
  } catch {
    return false;
  }
};

const notAPattern = (value: Json): string => `${shown(value)} is not a regular expression.`;

const pattern: Rule = (value, _key, _parent, looking) =>
  typeof value === 'string' && looking.isPattern(value) ? null : notAPattern(value);

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['type', type],
  ['properties', byName],
  ['patternProperties', byPattern],
  ['$defs', byName],
  ['definitions', byName],
  ['dependentSchemas', byName],
  ['dependentRequired', namesByName],
  ['dependencies', namesByName],
  ['items', items],
  ...['allOf', 'anyOf', 'oneOf', 'prefixItems'].map((keyword) => [keyword, each] as const),
  ...['additionalProperties', 'additionalItems', 'unevaluatedProperties', 'unevaluatedItems'].map(
    (keyword) => [keyword, one] as const,
  ),
  ...['contains', 'propertyNames', 'not', 'if', 'then', 'else'].map((keyword) => [keyword, one] as const),
  ['required', names],
  ['enum', holds((value) => Array.isArray(value), 'a list')],
  ...['minimum', 'maximum', 'multipleOf'].map((keyword) => [keyword, number] as const),
  ...['exclusiveMinimum', 'exclusiveMaximum'].map((keyword) => [keyword, limit] as const),
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'].map(
    (keyword) => [keyword, count] as const,
  ),
  ['pattern', pattern],
  ['$ref', text],
]);

const shown = (value: Json | undefined): string => {
  if (Array.isArray(value)) return 'a list';
  return isJsonObject(value) ? 'an object' : quoted(JSON.stringify(value) ?? 'nothing');
};

/** A message with its place in the schema. */
const told = (at: Place, message: string): string => {
  const steps: string[] = [];
  for (let place: Place | null = at; place !== null && place.key !== ''; place = place.parent) {
    steps.unshift(place.key);
  }
  return steps.length === 0 ? message : `in '${quoted(steps.join('.'))}': ${message}`;
};

import { isJsonObject, type Json, type JsonObject } from '../../src/kit/json/json.ts';
import type { Field, ObjectShape, Shape } from './sdk-types.ts';

/** A field of a request type at one path of a body, and bodies with and without it. */
export interface FieldCase {
  /** Such as `input[message].content[input_text].text`: alternatives are named by their type or role. */
  readonly place: string;
  /** One body for each kind of value that the field may have, with the value. */
  readonly given: readonly { readonly value: Json; readonly body: JsonObject }[];
  /** The body without the field, or without its parent if the field is required; null: all of it is. */
  readonly without: JsonObject | null;
}

export interface FieldWalk {
  /** A value for fields whose values are validated here, by the name of the field or by `type.name`. */
  readonly values: Readonly<Record<string, Json>>;
  /**
   * Optional fields without which an object is rejected here, by its type, its role or, with a dot, its
   * parent field.
   */
  readonly needed: Readonly<Record<string, JsonObject>>;
  /** Whether any value at a path reaches the backend unchanged: then it need not be inspected. */
  readonly isCarried: (bodyWith: (value: JsonObject) => JsonObject, sample: JsonObject) => boolean;
}

type BodyWith = (value: Json) => JsonObject;

/** Every field of a request type, in every alternative of every union. */
export function* fieldsOf(shape: Shape, walk: FieldWalk): Generator<FieldCase> {
  for (const alternative of objectsIn(shape)) {
    yield* fieldsAt(
      alternative,
      { place: '', in: '', bodyWith: (value) => value as JsonObject, without: null, seen: [] },
      walk,
    );
  }
}

interface At {
  readonly place: string;
  readonly bodyWith: BodyWith;
  /** The body without the nearest optional field around this path; null if all are required. */
  readonly without: JsonObject | null;
  /** The name of the parent field. */
  readonly in: string;
  /** The types around this path: a recursive type is entered once. */
  readonly seen: readonly string[];
}

function* fieldsAt(shape: ObjectShape, at: At, walk: FieldWalk): Generator<FieldCase> {
  const base = requiredOf(shape, walk, at.in);
  if (at.place !== '' && walk.isCarried(at.bodyWith, base)) return;
  const key = JSON.stringify([shape.fields.map(({ name }) => name), base]);
  if (at.seen.includes(key)) return;
  for (const field of shape.fields) {
    const place = at.place === '' ? field.name : `${at.place}.${field.name}`;
    const bodyWith: BodyWith = (value) => at.bodyWith({ ...base, [field.name]: value });
    const without = field.isOptional && !(field.name in base) ? at.bodyWith(base) : at.without;
    const values = valuesOf(field, walk, labelOf(base, at.in));
    yield {
      place,
      given: values
        .filter((value) => !isLookedInto(value))
        .map((value) => ({ value, body: bodyWith(value) })),
      without,
    };
    yield* fieldsIn(
      field.shape(),
      { place, in: field.name, bodyWith, without, seen: [...at.seen, key] },
      walk,
    );
  }
}

/** Objects of a list, and the fields of an object, are inspected one by one. */
const isLookedInto = (value: Json): boolean =>
  Array.isArray(value)
    ? isJsonObject((value as readonly Json[])[0])
    : isJsonObject(value) && Object.keys(value).length === 0;

function* fieldsIn(shape: Shape, at: At, walk: FieldWalk): Generator<FieldCase> {
  if (shape.kind === 'array') {
    const bodyWith: BodyWith = (value) => at.bodyWith([value]);
    yield* fieldsIn(shape.element(), { ...at, place: `${at.place}[]`, bodyWith }, walk);
  } else if (shape.kind === 'union') {
    for (const one of shape.of) yield* fieldsIn(one, at, walk);
  } else if (shape.kind === 'object') {
    yield* fieldsAt(shape, { ...at, place: labelled(at.place, shape) }, walk);
  }
}

/** `input[]` → `input[message]`. */
const labelled = (place: string, { fields }: ObjectShape): string => {
  const label = ['type', 'role'].flatMap((name) => {
    const shape = fields.find((field) => field.name === name)?.shape();
    const literal = shape?.kind === 'union' ? shape.of[0] : shape;
    return literal?.kind === 'literal' ? [String(literal.value)] : [];
  })[0];
  if (label === undefined) return place;
  return place.endsWith('[]') ? `${place.slice(0, -1)}${label}]` : `${place}(${label})`;
};

const objectsIn = (shape: Shape): readonly ObjectShape[] => {
  if (shape.kind === 'object') return [shape];
  return shape.kind === 'union' ? shape.of.flatMap(objectsIn) : [];
};

const requiredOf = ({ fields }: ObjectShape, walk: FieldWalk, inField: string): JsonObject => {
  const required = fields.filter(({ isOptional }) => !isOptional);
  const valuesAs = (label: string): JsonObject =>
    Object.fromEntries(required.map((field) => [field.name, valuesOf(field, walk, label)[0] ?? null]));
  const label = labelOf(valuesAs(inField), inField);
  return { ...valuesAs(label), ...walk.needed[label] };
};

const labelOf = ({ type, role }: JsonObject, inField: string): string => {
  const label = type ?? role;
  return typeof label === 'string' ? label : `.${inField}`;
};

const valuesOf = (field: Field, walk: FieldWalk, label: string): readonly Json[] => {
  const known = walk.values[`${label}.${field.name}`] ?? walk.values[field.name];
  return known === undefined ? samplesOf(field.shape(), walk, field.name) : [known];
};

/** A value of each kind that a type allows; `null` counts like a missing value. */
const samplesOf = (shape: Shape, walk: FieldWalk, inField: string): readonly Json[] => {
  if (shape.kind === 'literal') return [shape.value];
  if (shape.kind === 'array') {
    return samplesOf(shape.element(), walk, inField).map((element) => [element]);
  }
  if (shape.kind === 'union') return shape.of.flatMap((one) => samplesOf(one, walk, inField));
  if (shape.kind !== 'object') return SAMPLES[shape.kind];
  return [shape.isOpen ? { any: 'thing' } : requiredOf(shape, walk, inField)];
};

const SAMPLES = {
  string: ['s'],
  number: [1],
  boolean: [true, false],
  null: [],
  unknown: [{}],
} as const satisfies Record<string, readonly Json[]>;

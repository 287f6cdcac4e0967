import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../kit/json/json.ts';
import { schemaBudget, schemaProblem } from './schema-problem.ts';

const problemOf = (schema: JsonObject): string | null => schemaProblem(schema, schemaBudget());
const inside = (member: unknown): JsonObject =>
  ({ type: 'object', properties: { a: member } }) as unknown as JsonObject;

describe('schemaProblem', () => {
  it.each([
    {},
    { type: 'object' },
    { type: ['object', 'null'], properties: {} },
    { properties: { a: true, b: false, c: {} } },
    { type: 'object', properties: { type: { type: 'string' }, required: { type: 'array', items: {} } } },
    { $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } }, $ref: '#/$defs/node' },
    { properties: { me: { $ref: '#' } } },
    { definitions: { 'a/b~c d': {} }, properties: { x: { $ref: '#/definitions/a~1b~0c%20d' } } },
    { $defs: { n: { $anchor: 'here' } }, properties: { x: { $ref: '#here' } } },
    { $ref: 'https://example.org/schema.json' },
    { $defs: { n: { $id: 'https://example.org/n', $defs: { m: {} }, $ref: '#/$defs/m' } } },
    { type: 'object', additionalProperties: false, 'x-mine': 5, discriminator: { propertyName: 'k' } },
    inside({ type: 'string', format: 'no-such-format', minLength: 1, pattern: String.raw`^\d+$` }),
    inside({ type: 'string', pattern: String.raw`(?i)^[a-z]+\Z` }),
    inside({ type: 'number', minimum: 0, exclusiveMinimum: true }),
    inside({ enum: [1, 'a', null, { type: 5 }], const: { type: 5 }, default: { required: 'a' } }),
    inside({ items: [{ type: 'string' }, true], additionalItems: false }),
    inside({ anyOf: [{ type: 'string' }, { type: 'null' }], description: null, title: 5 }),
    { dependencies: { a: ['b'], c: { type: 'object' } }, dependentRequired: { a: ['b'] } },
  ])('accepts %j', (schema) => {
    expect(problemOf(schema as unknown as JsonObject)).toBeNull();
  });

  it.each([
    [{ type: 'string' }, `schema must be a JSON Schema of 'type: "object"', got 'type: "string"'.`],
    [{ type: 5 }, "in 'type': expected a type of JSON Schema, but got 5."],
    [inside({ type: 'any' }), `in 'properties.a.type': expected a type of JSON Schema, but got "any".`],
    [inside({ type: [] }), "in 'properties.a.type': expected a type of JSON Schema, but got a list."],
    [inside(5), "in 'properties.a': expected a schema, but got 5."],
    [inside(null), "in 'properties.a': expected a schema, but got null."],
    [{ properties: [] }, "in 'properties': expected an object of schemas, but got a list."],
    [{ required: 'a' }, `in 'required': expected a list of names, but got "a".`],
    [
      inside({ type: 'string', required: true }),
      "in 'properties.a.required': expected a list of names, but got true.",
    ],
    [{ required: [5] }, "in 'required': expected a list of names, but got a list."],
    [inside({ enum: 'a' }), `in 'properties.a.enum': expected a list, but got "a".`],
    [inside({ anyOf: {} }), "in 'properties.a.anyOf': expected a list of schemas, but got an object."],
    [inside({ anyOf: [5] }), "in 'properties.a.anyOf.0': expected a schema, but got 5."],
    [inside({ items: 'x' }), `in 'properties.a.items': expected a schema, but got "x".`],
    [inside({ minimum: '1' }), `in 'properties.a.minimum': expected a number, but got "1".`],
    [inside({ minLength: -1 }), "in 'properties.a.minLength': expected a whole number, but got -1."],
    [inside({ pattern: 5 }), "in 'properties.a.pattern': expected a string, but got 5."],
    [inside({ $ref: '#/$defs/b' }), "in 'properties.a.$ref': '#/$defs/b' does not exist."],
    [inside({ $ref: 5 }), "in 'properties.a.$ref': expected a string, but got 5."],
    [
      { $defs: { a: 5 }, properties: { x: { $ref: '#/$defs/a' } } },
      "in '$defs.a': expected a schema, but got 5.",
    ],
    [
      { dependentRequired: { a: [5] } },
      "in 'dependentRequired': expected an object of lists of names, but got an object.",
    ],
  ])('describes what is wrong with %j', (schema, problem) => {
    expect(problemOf(schema)).toBe(problem);
  });

  it('accepts every schema that a compiler accepts', () => {
    const broken = [inside({ type: 'any' }), inside(5), inside({ $ref: '#/$defs/b' })];
    for (const schema of broken) {
      expect(() => new Ajv2020({ strict: false }).compile(schema)).toThrow(/./);
      expect(problemOf(schema)).not.toBeNull();
    }
  });

  it('checks a limited number of subschemas', () => {
    const wide = inside({ anyOf: Array.from({ length: 9_000 }, () => ({ type: 'string' })) });
    const budget = schemaBudget();
    expect([1, 2, 3].map(() => schemaProblem(wide, budget))).toEqual([null, null, null]);
    expect(schemaProblem(inside(5), budget)).toBeNull();
    expect(schemaProblem(inside(5), schemaBudget())).not.toBeNull();
  });

  it.each(['(', '[', String.raw`(?i)^[a-z]+\Z`, String.raw`[^\p{L}\p{N}]`.repeat(700)])(
    'leaves patterns to the backend: their dialect is unknown, and some take seconds to parse (%#)',
    (pattern) => {
      expect(problemOf(inside({ pattern }))).toBeNull();
      expect(problemOf({ patternProperties: { [pattern]: {} } })).toBeNull();
    },
  );
});

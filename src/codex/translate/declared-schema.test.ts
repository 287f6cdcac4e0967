import * as fc from 'fast-check';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../kit/json/json.ts';
import { declaredSchema } from './declared-schema.ts';

describe('declaredSchema', () => {
  it.each<readonly [JsonObject, JsonObject]>([
    [{}, {}],
    [
      { type: 'object', properties: { a: true, b: false }, additionalProperties: false },
      {
        type: 'object',
        properties: { a: {}, b: { allOf: [{ type: 'string' }, { type: 'number' }] } },
        additionalProperties: false,
      },
    ],
    [{ type: 'array' }, { type: 'array', items: {} }],
    [
      { type: 'array', items: { type: 'string' } },
      { type: 'array', items: { type: 'string' } },
    ],
    [{ enum: [1, 'a', null] }, { enum: [1, 'a', null], type: ['integer', 'string', 'null'] }],
    [{ const: 5 }, { const: 5, type: 'integer' }],
    [{ description: 'Anything.' }, { description: 'Anything.', anyOf: [{}] }],
    [
      { $defs: { n: { properties: { next: { $ref: '#/$defs/n' }, v: true } } }, $ref: '#/$defs/n' },
      { $defs: { n: { properties: { next: { $ref: '#/$defs/n' }, v: {} } } }, $ref: '#/$defs/n' },
    ],
  ])('%j', (schema, declared) => {
    expect(declaredSchema(schema)).toEqual(declared);
  });

  const leaf = fc.constantFrom<(JsonObject | boolean)[]>(
    true,
    false,
    {},
    { type: 'array' },
    { enum: [1, 'a', null] },
    { const: 5.5 },
    { description: 'x' },
    { type: 'string' },
  );
  const { schema } = fc.letrec<{ schema: JsonObject | boolean }>((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.record({ properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema')) }),
      fc.record({ items: tie('schema') }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ type: fc.constant('object'), additionalProperties: tie('schema') }),
    ),
  }));

  it('accepts the same values', () => {
    const ajv = new Ajv2020({ strict: false, validateSchema: false });
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('a', 'b'), schema),
        fc.jsonValue({ maxDepth: 3 }),
        (properties, value) => {
          const own = { type: 'object', properties } as unknown as JsonObject;
          const values = [
            value,
            { a: value },
            { a: { a: value } },
            { b: [value] },
            { a: 1, b: 'a' },
            { a: 5.5 },
          ];
          const taken = (one: JsonObject) => values.map((each) => ajv.validate(one, each));
          expect(taken(declaredSchema(own))).toEqual(taken(own));
        },
      ),
      { numRuns: 50 },
    );
  });
});

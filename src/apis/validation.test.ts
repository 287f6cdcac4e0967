import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { GatewayError } from '../canonical/failure/failure.ts';
import { invalidChoice, parseBody, namesWhere, unreadFields } from './validation.ts';

const schema = z.object({
  name: z.string().min(2).max(5).optional(),
  count: z.int().min(1).max(10).optional(),
  ratio: z.number().min(0).max(2).optional(),
  above: z.number().gt(0).optional(),
  on: z.boolean().nullish(),
  kind: z.enum(['a', 'b', 'c']).optional(),
  only: z.literal('x').optional(),
  list: z
    .array(z.object({ text: z.string() }))
    .max(2)
    .optional(),
  either: z.union([z.string(), z.object({ deep: z.object({ value: z.number() }) })]).optional(),
  form: z
    .string()
    .regex(/^[a-z]+$/, 'expected small letters.')
    .optional(),
  table: z.record(z.string().max(3), z.string()).optional(),
  needed: z.string(),
});

const complaint = (value: unknown, at?: string): unknown => {
  try {
    return parseBody(schema, value, at);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { status, type, code, param, message } = error.failure;
    expect([status, type]).toEqual([400, 'invalid_request_error']);
    return { code, param, message };
  }
};

describe('parseBody', () => {
  it('returns the parsed value without unknown fields', () => {
    expect(parseBody(schema, { needed: 'x', count: 3, on: null, strange: 1 })).toEqual({
      needed: 'x',
      count: 3,
      on: null,
    });
  });

  it.each([
    [
      { needed: 1 },
      'invalid_type',
      'needed',
      "Invalid type for 'needed': expected a string, but got an integer instead.",
    ],
    [
      { needed: null },
      'invalid_type',
      'needed',
      "Invalid type for 'needed': expected a string, but got null instead.",
    ],
    [{}, 'missing_required_parameter', 'needed', "Missing required parameter: 'needed'."],
    [
      { needed: 'x', count: 1.5 },
      'invalid_type',
      'count',
      "Invalid type for 'count': expected an integer, but got a decimal instead.",
    ],
    [
      { needed: 'x', ratio: JSON.parse('1e999') },
      'invalid_type',
      'ratio',
      "Invalid type for 'ratio': expected a decimal, but got a number that is too large instead.",
    ],
    [
      { needed: 'x', on: 'yes' },
      'invalid_type',
      'on',
      "Invalid type for 'on': expected a boolean, but got a string instead.",
    ],
    [
      { needed: 'x', ratio: [] },
      'invalid_type',
      'ratio',
      "Invalid type for 'ratio': expected a decimal, but got an array instead.",
    ],
    [
      { needed: 'x', list: {} },
      'invalid_type',
      'list',
      "Invalid type for 'list': expected an array, but got an object instead.",
    ],
    [
      { needed: 'x', kind: 'd' },
      'invalid_value',
      'kind',
      "Invalid value: 'd'. Supported values are: 'a', 'b', and 'c'.",
    ],
    [{ needed: 'x', only: 7 }, 'invalid_value', 'only', "Invalid value: '7'. Supported values are: 'x'."],
    [
      { needed: 'x', count: 0 },
      'integer_below_min_value',
      'count',
      "Invalid 'count': integer below minimum value. Expected a value >= 1, but got 0 instead.",
    ],
    [
      { needed: 'x', ratio: 2.5 },
      'decimal_above_max_value',
      'ratio',
      "Invalid 'ratio': decimal above maximum value. Expected a value <= 2, but got 2.5 instead.",
    ],
    [
      { needed: 'x', ratio: 3 },
      'decimal_above_max_value',
      'ratio',
      "Invalid 'ratio': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [
      { needed: 'x', above: 0 },
      'decimal_below_min_value',
      'above',
      "Invalid 'above': decimal below minimum value. Expected a value > 0, but got 0 instead.",
    ],
    [
      { needed: 'x', name: 'abcdef' },
      'string_above_max_length',
      'name',
      "Invalid 'name': string too long. Expected a string with maximum length 5, but got a string with length 6 instead.",
    ],
    [
      { needed: 'x', name: '' },
      'string_below_min_length',
      'name',
      "Invalid 'name': string too short. Expected a string with minimum length 2, but got a string with length 0 instead.",
    ],
    [
      { needed: 'x', list: [{ text: '' }, { text: '' }, { text: '' }] },
      'array_above_max_length',
      'list',
      "Invalid 'list': array too long. Expected an array with maximum length 2, but got an array with length 3 instead.",
    ],
    [
      { needed: 'x', list: [{ text: 'a' }, { text: 1 }] },
      'invalid_type',
      'list[1].text',
      "Invalid type for 'list[1].text': expected a string, but got an integer instead.",
    ],
    [
      { needed: 'x', list: [{}] },
      'missing_required_parameter',
      'list[0].text',
      "Missing required parameter: 'list[0].text'.",
    ],
    [{ needed: 'x', form: 'A1' }, 'invalid_value', 'form', "Invalid 'form': expected small letters."],
    [
      { needed: 'x', either: 5 },
      'invalid_type',
      'either',
      "Invalid type for 'either': expected a string or an object, but got an integer instead.",
    ],
    [
      { needed: 'x', either: { deep: { value: 'x' } } },
      'invalid_type',
      'either.deep.value',
      "Invalid type for 'either.deep.value': expected a decimal, but got a string instead.",
    ],
  ])('%j', (value, code, param, message) => {
    expect(complaint(value)).toEqual({ code, param, message });
  });

  it('names a key that is too long', () => {
    expect(complaint({ needed: 'x', table: { toolong: 'v' } })).toMatchObject({
      code: 'invalid_value',
      param: 'table.toolong',
    });
  });

  it('includes the location in the body', () => {
    expect(complaint({ needed: 1 }, 'tools[3]')).toMatchObject({ param: 'tools[3].needed' });
  });
});

describe('invalidChoice', () => {
  it.each([
    ['a', ['x'], "Invalid value: 'a'. Supported values are: 'x'."],
    ['a', ['x', 'y'], "Invalid value: 'a'. Supported values are: 'x' and 'y'."],
    [{ b: 1 }, ['x'], `Invalid value: '{"b":1}'. Supported values are: 'x'.`],
    [undefined, ['x'], "Invalid value: 'undefined'. Supported values are: 'x'."],
    ['a'.repeat(101), ['x'], `Invalid value: '${'a'.repeat(100)}…'. Supported values are: 'x'.`],
  ])('%j of %j', (value, supported, message) => {
    expect(invalidChoice('p', value, supported).failure).toMatchObject({
      message,
      param: 'p',
      code: 'invalid_value',
    });
  });
});

const readSchema = z.object({
  name: z.string().nullish(),
  inner: z.object({ a: z.number().optional() }).nullish(),
  list: z.array(z.object({ b: z.number().optional() })).optional(),
  loose: z.looseObject({ c: z.number().optional() }).optional(),
  table: z.record(z.string(), z.json()).optional(),
  either: z.union([z.string(), z.object({ d: z.number() })]).optional(),
  standard: z.object({ e: z.number().optional() }).default({}),
});

describe('unreadFields', () => {
  it.each([
    ['nothing', {}, []],
    ['known fields', { name: null, inner: { a: 1 }, list: [{ b: 1 }] }, []],
    ['an unknown field', { name: 'x', colour: 1 }, ['colour']],
    ['an unknown field that is null', { colour: null, inner: { z: null } }, []],
    ['inside an object', { inner: { a: 1, z: 2 } }, ['inner.z']],
    ['inside a list', { list: [{ b: 1 }, { z: 1, y: 2 }] }, ['list[1].z', 'list[1].y']],
    ['inside a default', { standard: { z: 1 } }, ['standard.z']],
    ['a loose object reads all', { loose: { z: 1 } }, []],
    ['a table reads all', { table: { z: 1 } }, []],
    ['a union is left alone', { either: { z: 1 } }, []],
    ['a name of the prototype', { toString: 1, constructor: 2 }, ['toString', 'constructor']],
    ['a value of another type', { inner: [1], list: 'x' }, []],
    ['a string', 'x', []],
  ])('%s', (_, value, names) => {
    expect(unreadFields(readSchema, value, '')).toEqual(names);
  });

  it('lists at most a thousand names', () => {
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`u${index}`, 1]));
    expect(unreadFields(readSchema, { ...wide, inner: { z: 1 } }, '')).toHaveLength(1_000);
  });

  it('includes the location in the body', () => {
    expect(unreadFields(readSchema, { inner: { z: 1 }, y: 2 }, 'input[3]')).toEqual([
      'input[3].inner.z',
      'input[3].y',
    ]);
  });
});

describe('namesWhere', () => {
  it('skips fields that are absent, null or false', () => {
    expect(namesWhere({ a: undefined, b: null, c: false, d: true, e: '', f: 0, g: {} })).toEqual([
      'd',
      'e',
      'f',
      'g',
    ]);
  });
});

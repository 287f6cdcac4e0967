import { describe, expect, it } from 'vitest';
import { z } from 'zod';

import { namesWhere, unreadFields } from './unread-fields.ts';

const schema = z.object({
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
    expect(unreadFields(schema, value, '')).toEqual(names);
  });

  it('lists at most a thousand names', () => {
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`u${index}`, 1]));
    expect(unreadFields(schema, { ...wide, inner: { z: 1 } }, '')).toHaveLength(1_000);
  });

  it('includes the location in the body', () => {
    expect(unreadFields(schema, { inner: { z: 1 }, y: 2 }, 'input[3]')).toEqual([
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

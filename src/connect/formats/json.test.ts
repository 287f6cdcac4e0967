import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { Json } from '../../kit/json/json.ts';
import { CannotEdit, UnreadableFile, withValueAt, type KeyPath } from './format.ts';
import { json } from './json.ts';

describe('json.read', () => {
  it('reads comments, trailing commas and a byte order mark', () => {
    expect(json.read('\u{FEFF}// a\n{"a": [1, /* b */ 2,], "b": {"c": null,},}\r\n')).toEqual({
      a: [1, 2],
      b: { c: null },
    });
  });

  it.each(['', ' \n', '// only a comment\n'])('has no settings in %j', (text) => {
    expect(json.read(text)).toEqual({});
  });

  it.each([
    ['{"a": 1', 'line 1, column 8: "," or "}" is expected'],
    ['{\n  "a" 1}', 'line 2, column 7: ":" is expected'],
    ['{"a": sk-secret}', 'line 1, column 7: a value is expected'],
    ['{"a": 1}}', 'line 1, column 9: something follows the value'],
    ['{"a": 1, "a": 2}', 'line 1, column 10: a key is repeated'],
    ['{a: 1}', 'line 1, column 2: a key in double quotes is expected'],
    ['{"a": 1 "b": 2}', 'line 1, column 9: "," or "}" is expected'],
    ['{"a": 01}', 'line 1, column 7: the value is invalid'],
    ['[]', 'it does not contain an object'],
    [`{"a": ${'['.repeat(200)}`, 'line 1, column 107: it is nested too deeply'],
  ])('names the place of an error and quotes nothing: %j', (text, message) => {
    expect(() => json.read(text)).toThrow(new UnreadableFile(message));
  });
});

describe('json.set', () => {
  it.each<readonly [string, string, KeyPath, Json, string]>([
    ['an empty file', '', ['a'], 1, '{\n  "a": 1\n}\n'],
    ['an empty object', '{}', ['a', 'b'], 1, '{\n  "a": {\n    "b": 1\n  }\n}'],
    ['a line', '{"a": 1}\n', ['b'], [2, 3], '{"a": 1, "b": [2,3]}\n'],
    ['a value', '{\n\t"a": /* x */ 1 // y\n}', ['a'], 'z', '{\n\t"a": /* x */ "z" // y\n}'],
    ['tabs', '{\n\t"a": 1\n}', ['b', 'c'], 2, '{\n\t"a": 1,\n\t"b": {\n\t\t"c": 2\n\t}\n}'],
    ['CRLF', '{\r\n    "a": 1\r\n}\r\n', ['b'], 2, '{\r\n    "a": 1,\r\n    "b": 2\r\n}\r\n'],
    ['a remark', '{\n  "a": 1 // why\n}', ['b'], 2, '{\n  "a": 1, // why\n  "b": 2\n}'],
    ['a trailing comma', '{\n  "a": 1, // why\n}', ['b'], 2, '{\n  "a": 1, // why\n  "b": 2\n}'],
    ['only a comment', '{\n  // nothing yet\n}', ['a'], 1, '{\n  // nothing yet\n  "a": 1\n}'],
  ])('keeps the form of %s', (_name, before, path, value, after) => {
    expect(json.set(before, path, value)).toBe(after);
  });

  it('does not replace a value by an object', () => {
    expect(() => json.set('{"a": 1}', ['a', 'b'], 2)).toThrow(new CannotEdit('a is not an object'));
  });
});

describe('json.remove', () => {
  it.each<readonly [string, KeyPath, string]>([
    ['{\n  "a": 1,\n  "b": 2\n}', ['b'], '{\n  "a": 1\n}'],
    ['{\n  "a": 1,\n  "b": 2\n}', ['a'], '{\n  "b": 2\n}'],
    ['{"a": 1, "b": 2}', ['a'], '{"b": 2}'],
    ['{"a": 1, "b": 2}', ['b'], '{"a": 1}'],
    ['{\n  "a": 1,\n  // about b\n  "b": 2 // more\n}', ['b'], '{\n  "a": 1\n  // about b\n   // more\n}'],
    ['{"a": 1 /* x */, "b": 2}', ['a'], '{ /* x */"b": 2}'],
  ])('leaves comments alone: %j without %j', (before, path, after) => {
    expect(json.remove(before, path)).toBe(after);
  });
});

/** Any text between two tokens. */
const blank = fc.constantFrom(
  '',
  ' ',
  '\n',
  '\r\n  ',
  '\t',
  ' // a, "b": {\n',
  '/* c } */',
  '\n\n  // d\n  ',
);
const key = fc.oneof(fc.constantFrom('a', 'b', 'env', '__proto__'), fc.string({ maxLength: 4 }));
const scalar = fc.oneof(fc.string({ maxLength: 5 }), fc.integer(), fc.boolean(), fc.constant(null));

/** JSON with comments, in any layout. */
const anyText: fc.Arbitrary<string> = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar.map((value) => JSON.stringify(value)),
    tie('object'),
    container(
      '[',
      ']',
      fc.array(
        fc.tuple(blank, tie('value'), blank).map((parts) => parts.join('')),
        { maxLength: 3 },
      ),
    ),
  ),
  object: container(
    '{',
    '}',
    fc
      .uniqueArray(fc.tuple(key, blank, blank, tie('value'), blank), {
        maxLength: 3,
        selector: ([name]) => name,
      })
      .map((members) =>
        members.map(([name, a, b, value, c]) => `${a}${JSON.stringify(name)}${b}:${a}${value}${c}`),
      ),
  ),
})).object;

function container(open: string, close: string, entries: fc.Arbitrary<string[]>): fc.Arbitrary<string> {
  return fc
    .tuple(entries, fc.boolean(), blank)
    .map(
      ([all, hasComma, end]) =>
        `${open}${all.join(',')}${hasComma && all.length > 0 ? ',' : ''}${end}${close}`,
    );
}

const commentsIn = (text: string): readonly string[] =>
  (text.match(/"(?:[^"\\]|\\.)*"|\/\/[^\r\n]*|\/\*[^]*?\*\//g) ?? [])
    .filter((one) => one.startsWith('/'))
    .toSorted();

describe('json, whatever the file looks like', () => {
  it('changes one value', () => {
    fc.assert(
      fc.property(
        anyText,
        fc.array(key, { minLength: 1, maxLength: 3 }),
        fc.jsonValue(),
        (text, path, value) => {
          const before = json.read(text);
          const copy = JSON.parse(JSON.stringify(value)) as Json;
          let after: string;
          try {
            after = json.set(text, path, copy);
          } catch (error) {
            expect(error).toBeInstanceOf(CannotEdit);
            return;
          }
          expect(json.read(after)).toEqual(withValueAt(before, path, copy));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('adds and removes a value without touching the others or their comments', () => {
    fc.assert(
      fc.property(anyText, fc.jsonValue(), (text, value) => {
        const copy = JSON.parse(JSON.stringify(value)) as Json;
        const after = json.set(text, ['added by us'], copy);
        expect(commentsIn(after)).toEqual(expect.arrayContaining([...commentsIn(text)]));
        const removed = json.remove(after, ['added by us']);
        expect(json.read(removed)).toEqual(json.read(text));
        expect(commentsIn(removed)).toEqual(commentsIn(text));
      }),
      { numRuns: 500 },
    );
  });

  it('adds and removes an item of a list', () => {
    fc.assert(
      fc.property(anyText, fc.array(scalar, { maxLength: 3 }), (text, list) => {
        const start = json.set(text, ['list'], list);
        const after = json.append(start, ['list'], { name: 'ours' });
        expect(json.read(after)['list']).toEqual([...list, { name: 'ours' }]);
        expect(json.read(json.removeItem(after, ['list'], { name: 'ours' }))).toEqual(json.read(start));
      }),
      { numRuns: 200 },
    );
  });
});

import { describe, expect, it } from 'vitest';

import type { Json } from '../../kit/json/json.ts';
import { CannotEdit, UnreadableFile, type KeyPath } from './format.ts';
import { toml } from './toml.ts';

describe('toml', () => {
  it('reads tables, and names the place of an error without quoting it', () => {
    expect(toml.read('a = 1\n[b."c.d"]\ne = ["x"]\n')).toEqual({ a: 1, b: { 'c.d': { e: ['x'] } } });
    expect(() => toml.read('a = 1\nkey = sk-secret\n')).toThrow(
      new UnreadableFile('line 2, column 7: it is not valid TOML'),
    );
  });

  it.each<readonly [string, string, KeyPath, Json, string]>([
    ['an empty file', '', ['a'], 'x', 'a = "x"\n'],
    [
      'a root with tables',
      '# mine\nb = 1\n\n[t]\nc = 2\n',
      ['a'],
      'x',
      '# mine\nb = 1\na = "x"\n\n[t]\nc = 2\n',
    ],
    ['tables only', '[t]\nc = 2', ['a'], 'x', 'a = "x"\n[t]\nc = 2'],
    ['a value with a comment', 'a = "old" # why\n', ['a'], 'new "x"', 'a = "new \\"x\\"" # why\n'],
    ['a table at the end', 'b = 1\n', ['t', 'u'], 'x', 'b = 1\n\n[t]\nu = "x"\n'],
    [
      'a table that is there',
      '[t]\nb = 1\n# end\n\n[v]\n',
      ['t', 'u'],
      'x',
      '[t]\nb = 1\nu = "x"\n# end\n\n[v]\n',
    ],
    ['CRLF', 'b = 1\r\n[t]\r\n', ['t', 'u'], 'x', 'b = 1\r\n[t]\r\nu = "x"\r\n'],
    ['quoted names', '["t"]\n"u" = 1\n', ['t', 'u'], 'x', '["t"]\n"u" = "x"\n'],
  ])('sets a value in %s', (_name, before, path, value, after) => {
    expect(toml.set(before, path, value)).toBe(after);
  });

  it.each<readonly [string, KeyPath, string]>([
    ['# mine\na = 1\nb = 2\n', ['a'], '# mine\nb = 2\n'],
    ['b = 1\n\n[t]\nu = 1\n', ['t', 'u'], 'b = 1\n\n[t]\n'],
    ['b = 1\n\n[t]\n', ['t'], 'b = 1\n'],
    ['b = 1\n\n[t]\n\n[v]\nc = 1\n', ['t'], 'b = 1\n\n[v]\nc = 1\n'],
  ])('removes from %j the value %j', (before, path, after) => {
    expect(toml.remove(before, path)).toBe(after);
  });

  it('leaves values of several lines, lists, and tables with comments to the user', () => {
    expect(() => toml.set('a = """\nx"""\n', ['a'], 'y')).toThrow(CannotEdit);
    expect(() => toml.append('a = []\n', ['a'], 'y')).toThrow(CannotEdit);
    expect(() => toml.remove('[t]\n# mine\n', ['t'])).toThrow(new CannotEdit('t is not empty'));
  });
});

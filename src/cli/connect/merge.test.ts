import * as fc from 'fast-check';
import { stringify as tomlText } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { stringify as yamlText } from 'yaml';

import { serverFacts } from '../../../test/support/connect-facts.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import { type ConnectClient, wholeOf, type ClientSetting } from '../../connect/client.ts';
import { CLIENTS } from '../../connect/clients.ts';
import { CannotEdit, valueAt, withValueAt } from '../../connect/formats/format.ts';
import { json } from '../../connect/formats/json.ts';
import { yaml } from '../../connect/formats/yaml.ts';
import { FORMATS } from '../../connect/formats.ts';
import { merge, unmerge } from './merge.ts';

const files = Object.entries<ConnectClient>(CLIENTS).flatMap(([name, client]) =>
  client.files(serverFacts()).map((file) => ({ name: `${name}, ${file.place.name}`, ...file })),
);

const PRINT = { json: json.print, toml: tomlText, yaml: yamlText } as const;

/** Settings of other people, also below the objects that we use. */
const word = fc.stringMatching(/^[a-z]{1,6}$/);
const theirs = fc
  .tuple(
    fc.dictionary(
      word,
      fc.oneof(word, fc.integer(), fc.array(word, { maxLength: 2 }), fc.dictionary(word, word)),
    ),
    fc.constantFrom('none', 'env', 'provider', 'modelProviders', 'providers', 'model_providers', 'list'),
    word,
  )
  .map(([object, parent, key]): JsonObject => {
    const others = Object.fromEntries(Object.entries(object).filter(([name]) => !RESERVED.has(name)));
    if (parent === 'none') return others;
    return parent === 'list'
      ? { ...others, models: [{ name: key }] }
      : { ...others, [parent]: { [key]: { a: key } } };
  });

/** Keys that clients have objects at. */
const RESERVED = new Set([
  'env',
  'model',
  'models',
  'schema',
  'name',
  'version',
  'security',
  'providers',
  'provider',
]);

describe.each(files)('the settings of $name', ({ format: name, settings }) => {
  const format = FORMATS[name];

  it('are a whole new file', () => {
    const { text } = merge(format, '', settings);
    expect(format.read(text)).toEqual(wholeOf(settings));
    expect(merge(format, text, settings)).toEqual({ text, changes: [] });
  });

  it('leave the settings of others alone, and are taken back also after later edits', () => {
    fc.assert(
      fc.property(theirs, word, (others, added) => {
        const before = Object.keys(others).length === 0 ? '' : PRINT[name](others);
        const { text, changes } = merge(format, before, settings);
        expect(unmerge(format, text, changes)).toEqual({ text: expect.any(String), kept: [] });
        const edited = format.set(text, [`${added}_later`], added);
        const after = unmerge(format, edited, changes);
        const isFramed = Object.keys(others).length === 0;
        const frame = isFramed ? wholeOf(settings.filter(({ kind }) => kind === 'first')) : {};
        expect(after.kept).toEqual([]);
        expect(format.read(after.text)).toEqual({ ...others, ...frame, [`${added}_later`]: added });
      }),
      { numRuns: 100 },
    );
  });
});

const value = (path: string, to: Json): ClientSetting => ({
  kind: 'value',
  path: path.split('.'),
  value: to,
});

describe('merge', () => {
  it('refuses to replace what is not an object or a list', () => {
    expect(() => merge(json, '{"env": 1}', [value('env.a', 'x')])).toThrow(
      new CannotEdit('env is not an object'),
    );
    expect(() => merge(json, '{"l": {}}', [{ kind: 'item', path: ['l'], item: 1 }])).toThrow(
      new CannotEdit('l is not a list'),
    );
  });

  it('refuses a file in a form that would change otherwise', () => {
    expect(() => merge(FORMATS.toml, 't = { a = "b" }\n', [value('t.u', 'x')])).toThrow(
      new CannotEdit('it is written in a form that this command does not edit'),
    );
    expect(() => merge(yaml, 'a: 1\n...\n', [value('c', 'x')])).toThrow(
      new CannotEdit('it is written in a form that this command does not edit'),
    );
  });
});

describe('unmerge', () => {
  const { text, changes } = merge(json, '{"a": 1, "b": 2}', [
    value('a', 10),
    value('env.x', 'y'),
    value('c', 3),
  ]);

  it('restores former values, and removes what was created', () => {
    expect(unmerge(json, text, changes)).toEqual({ text: '{"a": 1, "b": 2}', kept: [] });
  });

  it('keeps what others have changed, and says so', () => {
    const edited = json.set(json.set(text, ['a'], 11), ['env', 'z'], 'theirs');
    const { text: after, kept } = unmerge(json, edited, changes);
    expect(kept).toEqual([['a']]);
    expect(json.read(after)).toEqual({ a: 11, b: 2, env: { z: 'theirs' } });
  });

  it('accepts that others have removed our settings already', () => {
    const edited = json.remove(json.remove(text, ['env']), ['c']);
    expect(unmerge(json, edited, changes)).toEqual({ text: '{"a": 1, "b": 2}', kept: [] });
  });

  it('recognises a value that the client rewrites by its identity', () => {
    const setting = { kind: 'value', path: ['p'], value: { url: 'u', at: 1 }, identity: ['url'] } as const;
    const merged = merge(json, '{"p": {"url": "v"}}', [setting]);
    const rewritten = json.set(merged.text, ['p', 'at'], 2);
    expect(json.read(unmerge(json, rewritten, merged.changes).text)).toEqual({ p: { url: 'v' } });
    const replaced = json.set(merged.text, ['p', 'url'], 'other');
    expect(unmerge(json, replaced, merged.changes).kept).toEqual([['p']]);
  });
});

describe('paths', () => {
  it('reach own keys only, and are copied', () => {
    expect(valueAt({ a: {} }, ['a', 'constructor'])).toBeUndefined();
    const odd = withValueAt({}, ['__proto__', 'a'], 1);
    expect([Object.keys(odd), ({} as JsonObject)['a']]).toEqual([['__proto__'], undefined]);
  });
});

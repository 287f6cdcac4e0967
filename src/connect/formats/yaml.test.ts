import { describe, expect, it } from 'vitest';

import { CannotEdit, UnreadableFile } from './format.ts';
import { yaml } from './yaml.ts';

const ITEM = { name: 'ours', roles: ['chat'] };
const add = (text: string): string => yaml.append(text, ['models'], ITEM);
const OURS = '  - name: ours\n    roles:\n      - chat\n';

describe('yaml', () => {
  it('reads settings, and names the place of an error without quoting it', () => {
    expect([yaml.read('# nothing\n'), yaml.read('a: {b: [1]}\n')]).toEqual([{}, { a: { b: [1] } }]);
    expect(() => yaml.read('a: 1\nb: "sk-secret\n')).toThrow(/^line \d+, column \d+: it is not valid YAML$/);
    expect(() => yaml.read('- a\n')).toThrow(new UnreadableFile('it does not contain an object'));
  });

  it.each([
    ['an empty file', '', `models:\n${OURS}`],
    ['a file without the list', 'a: 1 # one', `a: 1 # one\nmodels:\n${OURS}`],
    [
      'a list with comments',
      'models:\n  # first\n  - name: a # b\n    x: 1 # c\n\n# end\nz: 1\n',
      `models:\n  # first\n  - name: a # b\n    x: 1 # c\n${OURS}\n# end\nz: 1\n`,
    ],
    [
      'a list without indent',
      'models:\n- name: a\nz: 1\n',
      `models:\n- name: a\n${OURS.replaceAll(/^ {2}/gm, '')}z: 1\n`,
    ],
    [
      'a block of text',
      'models:\n  - |\n    a\n    b\nz: 1\n',
      `models:\n  - |\n    a\n    b\n${OURS}z: 1\n`,
    ],
    ['no line break at the end', 'models:\n  - a', `models:\n  - a\n${OURS}`],
    ['CRLF', 'models:\r\n  - a\r\n', `models:\r\n  - a\r\n${OURS.replaceAll('\n', '\r\n')}`],
  ])('adds an item to %s', (_name, before, after) => {
    expect(add(before)).toBe(after);
  });

  it.each([
    [`models:\n  - a # x\n${OURS}  # about b\n  - b\n`, 'models:\n  - a # x\n  # about b\n  - b\n'],
    [`a: 1\nmodels: # mine\n${OURS}`, 'a: 1\nmodels: [] # mine\n'],
  ])('removes it: %j', (before, after) => {
    expect(yaml.removeItem(before, ['models'], ITEM)).toBe(after);
  });

  it('sets and removes values at the root', () => {
    expect(yaml.set('a: 1\n', ['b'], 'x: y')).toBe('a: 1\nb: "x: y"\n');
    expect(yaml.remove('a: 1\nb: 2 # c\nd: 3\n', ['b'])).toBe('a: 1\nd: 3\n');
  });

  it.each(['models: []\n', 'models: [{name: a}]\n', 'models:\n', 'models: 1\n'])(
    'leaves %j to the user',
    (text) => {
      expect(() => add(text)).toThrow(new CannotEdit('models is not a list with one item per line'));
    },
  );

  it.each(['{}\n', '{a: 1}'])('leaves settings in braces to the user: %j', (text) => {
    expect(() => add(text)).toThrow(new CannotEdit('its settings are in braces'));
  });
});

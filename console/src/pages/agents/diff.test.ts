import { describe, expect, it } from 'vitest';

import { changesOf, diffOf, MAX_LINE_CHARS, type FileChange } from './diff.ts';

const change = (fields: Partial<FileChange>): FileChange => ({
  path: 'a.ts',
  kind: 'update',
  movePath: null,
  diff: '',
  ...fields,
});

const shown = (one: FileChange): readonly string[] =>
  diffOf(one).lines.map(
    ({ kind, text, oldLine, newLine }) => `${oldLine ?? '-'} ${newLine ?? '-'} ${kind} ${text}`,
  );

describe('the diff of a file', () => {
  it('has the line numbers of both files', () => {
    const diff =
      '--- a.ts\n+++ a.ts\n@@ -3,3 +3,4 @@ function\n one\n-two\n+2\n+3\n four\n\\ No newline at end of file\n';
    expect(shown(change({ diff }))).toEqual([
      '- - hunk @@ -3,3 +3,4 @@ function',
      '3 3 same one',
      '4 - remove two',
      '- 4 add 2',
      '- 5 add 3',
      '5 6 same four',
      '- - note No newline at end of file',
    ]);
    expect(diffOf(change({ diff }))).toMatchObject({ added: 2, removed: 1 });
  });

  it.each([
    ['add', 'one\n-- two\n', ['- 1 add one', '- 2 add -- two']],
    ['add', '+one\n+two\n', ['- 1 add one', '- 2 add two']],
    ['delete', 'one\n', ['1 - remove one']],
    ['add', '', []],
  ] as const)('is the content of a file that was made or deleted (%s)', (kind, diff, lines) => {
    expect(shown(change({ kind, diff }))).toEqual(lines);
  });

  it('has lines that look like the header of a file', () => {
    expect(shown(change({ diff: '@@ -1,2 +1,1 @@\n--- a comment of SQL\n+++ more\n' })).slice(1)).toEqual([
      '1 - remove -- a comment of SQL',
      '- 1 add ++ more',
    ]);
  });
});

describe('the changes of a patch', () => {
  it('are those of its item', () => {
    const changes = [
      { path: 'a', kind: 'add', move_path: null, diff: 'x' },
      { path: 'b', kind: 'update', move_path: 'c', diff: '' },
    ];
    expect(changesOf({ changes })).toEqual([
      { path: 'a', kind: 'add', movePath: null, diff: 'x' },
      { path: 'b', kind: 'update', movePath: 'c', diff: '' },
    ]);
  });

  it('are read from the text of the model', () => {
    const patch = [
      '*** Begin Patch',
      '*** Add File: new.txt',
      '+hello',
      '*** Update File: src/a.ts',
      '*** Move to: src/b.ts',
      '@@ function',
      ' same',
      '-old',
      '+new',
      '*** End of File',
      '*** Delete File: gone.txt',
      '*** End Patch',
    ].join('\n');
    expect(changesOf({ patch })).toEqual([
      { path: 'new.txt', kind: 'add', movePath: null, diff: '+hello' },
      { path: 'src/a.ts', kind: 'update', movePath: 'src/b.ts', diff: '@@ function\n same\n-old\n+new' },
      { path: 'gone.txt', kind: 'delete', movePath: null, diff: '' },
    ]);
    expect(changesOf({ patch: 'no patch' })).toEqual([]);
  });

  it.each([
    `+${'x'.repeat(MAX_LINE_CHARS)}`,
    '***  Delete File: b',
    ' *** Delete File: b',
    '***Delete File: b',
    '*** delete file: b',
  ])('are not shown if a line would be cut, or may be a change that is not understood: %#', (line) => {
    const update = ['*** Update File: a', '@@', '-x', '+y'];
    const patches = [
      [line, ...update],
      [...update, line],
    ];
    for (const lines of patches) {
      const patch = ['*** Begin Patch', ...lines, '*** End Patch'].join('\n');
      expect(changesOf({ patch })).toEqual([]);
    }
  });

  it('show lines that look like the header of a file', () => {
    const patch = '*** Begin Patch\n*** Update File: a\n--- one\n+++ two\n*** End Patch';
    expect(changesOf({ patch }).flatMap(shown)).toEqual([
      '- - hunk @@',
      '- - remove -- one',
      '- - add ++ two',
    ]);
  });
});

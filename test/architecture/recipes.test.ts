import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');

/** The part of a page under a heading, up to the next heading of the same level. */
const section = (text: string, heading: string): string => {
  const level = /^#+/.exec(heading)?.[0] ?? '';
  const [, after = ''] = text.split(`\n${heading}\n`);
  return after.split(new RegExp(`^${level} `, 'm'))[0] ?? '';
};

/** The files that a numbered list names. */
const filesIn = (text: string): readonly string[] => {
  const list = text
    .split(/^(?=\d+\. )/m)
    .slice(1)
    .join('');
  return [
    ...new Set(
      [...list.matchAll(/`((?:src|test|scripts|docs)\/[\w./-]+\.\w+)`/g)].map(([, name = '']) => name),
    ),
  ];
};
const missing = (files: readonly string[]): readonly string[] =>
  files.filter((file) => !existsSync(path.join(ROOT, file)));

describe('the recipes in CONTRIBUTING', () => {
  it.each(['New endpoint', 'New item kind', 'New step', 'New setting', 'New API family'])(
    '%s: lists one to five files that exist',
    (name) => {
      const files = filesIn(section(read('CONTRIBUTING.md'), `### ${name}`).split('\n## ')[0] ?? '');
      expect(missing(files)).toEqual([]);
      expect(files.length).toBeGreaterThan(1);
      expect(files.length).toBeLessThanOrEqual(5);
    },
  );
});

describe('the walk from socket to socket', () => {
  it('passes at most fifteen modules that exist, one per step', () => {
    const text = section(read('docs/architecture.md'), '## The walk from socket to socket');
    const steps = [...text.matchAll(/^\d+\. `(src\/[^`]+\.ts)`/gm)].map(([, file = '']) => file);
    expect(missing(steps)).toEqual([]);
    expect(steps.length).toBeGreaterThan(10);
    expect(steps.length).toBeLessThanOrEqual(15);
    expect(filesIn(text.split('\nCancelling')[0] ?? '')).toEqual(steps);
  });
});

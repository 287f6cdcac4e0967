import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../..');

/** One file, one idea: a longer file has two. */
const MAX_LINES = 320;

const files = globSync('{src,test,bench,scripts,console/src}/**/*.{ts,tsx,css}', { cwd: ROOT }).filter(
  (file) => !file.includes(path.join('protocol', 'generated')),
);
const linesOf = (file: string): number => readFileSync(path.join(ROOT, file), 'utf8').split('\n').length - 1;

describe('files', () => {
  it('are found', () => {
    expect(files.length).toBeGreaterThan(500);
  });

  it('are short', () => {
    const long = files.map((file) => [file, linesOf(file)] as const).filter(([, lines]) => lines > MAX_LINES);
    expect(long).toEqual([]);
  });
});

import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { STATE_AREAS } from '../../scripts/pages/state-matrix.ts';
import { testTitles } from './test-titles.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const rows = STATE_AREAS.flatMap((area) => area.rows);
const named = rows.flatMap(({ tests }) => Object.entries(tests));

describe('the comparison with OpenAI', () => {
  it('names tests that exist', () => {
    const known = new Map(
      [...new Set(named.map(([file]) => file))].map((file) => [
        file,
        existsSync(path.join(ROOT, file)) ? testTitles(file) : [],
      ]),
    );
    const missing = named.flatMap(([file, titles]) =>
      titles.filter((title) => known.get(file)?.includes(title) !== true).map((title) => `${file}: ${title}`),
    );
    expect(missing).toEqual([]);
  });

  it('has a test for each statement, and explains each difference', () => {
    const unproved = rows.filter(({ tests }) => Object.values(tests).flat().length === 0);
    const unexplained = rows.filter(({ ours, how }) => ours !== 'same' && how === undefined);
    expect([unproved, unexplained].map((list) => list.map(({ openai }) => openai))).toEqual([[], []]);
  });

  it('has each statement once, and no bar that would break the table', () => {
    const statements = rows.map(({ openai }) => openai);
    expect(new Set(statements).size).toBe(statements.length);
    expect(rows.filter((row) => JSON.stringify(row).includes('|'))).toEqual([]);
  });
});

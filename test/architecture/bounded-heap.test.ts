import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const MODULE = new URL('../../bin/bounded-heap.js', import.meta.url);
const MB = 1024 * 1024;

/** Fills the new space with objects that live for a while. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  import { boundHeap } from ${JSON.stringify(MODULE.href)};
  if (process.argv.includes('bound')) boundHeap(process);
  const sizeOf = (name) => getHeapSpaceStatistics().find((space) => space.space_name === name).space_size;
  const [kept, ring] = [[], []];
  for (let nth = 0; nth < 100_000; nth += 1) kept.push({ nth, list: [nth] });
  const sizes = [];
  for (let nth = 0; nth < 4_000_000; nth += 1) {
    ring[nth % 300_000] = { nth, list: [nth] };
    if (nth % 10_000 !== 0) continue;
    sizes.push(sizeOf('new_space'));
  }
  // While the threads of the collector wait for a core, it is larger for a moment.
  const newSpace = sizes.sort((one, other) => one - other)[sizes.length >> 1];
  console.log(JSON.stringify({ newSpace, kept: kept.length }));
`;

interface Usual {
  readonly newSpace: number;
}

const usualOf = (flags: readonly string[], ...words: readonly string[]): Usual =>
  JSON.parse(
    execFileSync(process.execPath, [...flags, '--input-type=module', '-', ...words], {
      input: PROGRAM,
      cwd: path.dirname(MODULE.pathname),
      env: {},
      encoding: 'utf8',
    }),
  ) as Usual;

describe('boundHeap', () => {
  it('limits the new space to about 16 MB', () => {
    expect(usualOf([]).newSpace).toBeGreaterThan(32 * MB);
    expect(usualOf([], 'bound').newSpace).toBeLessThan(24 * MB);
  });

  it('leaves the sizes to someone who chose them', () => {
    expect(usualOf(['--max-semi-space-size=32'], 'bound').newSpace).toBeGreaterThan(24 * MB);
  });
});

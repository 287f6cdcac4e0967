import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const MODULE = new URL('../../bin/bounded-memory.js', import.meta.url);
const MB = 1024 * 1024;

/** Fills the new space with objects that live for a while. */
const PROGRAM = `
  import { readFileSync } from 'node:fs';
  import { getHeapSpaceStatistics } from 'node:v8';
  import { boundMemory } from ${JSON.stringify(MODULE.href)};
  const words = process.argv.slice(2);
  if (words.includes('bound')) boundMemory(process);
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
  const malloc = readFileSync('/proc/self/environ', 'utf8').split('\\0').filter((entry) => entry.startsWith('MALLOC_'));
  const { pid, env, execArgv } = process;
  console.log(JSON.stringify({ newSpace, words, pid, malloc, env, execArgv, kept: kept.length }));
`;

interface Started {
  readonly newSpace: number;
  readonly words: readonly string[];
  readonly pid: number;
  /** What glibc has read. */
  readonly malloc: readonly string[];
  /** What processes that it starts get. */
  readonly env: Readonly<Record<string, string>>;
  readonly execArgv: readonly string[];
}

let folder = '';
beforeAll(async () => void (folder = await mkdtemp(path.join(tmpdir(), 'bounded-memory-'))));
afterAll(() => rm(folder, { recursive: true, force: true }));

const start = async (
  flags: readonly string[],
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Started & { readonly startedPid: number }> => {
  const file = path.join(folder, 'program.mjs');
  await writeFile(file, PROGRAM);
  const running = promisify(execFile)(process.execPath, [...flags, file, ...words], { env });
  const { stdout } = await running;
  return { ...(JSON.parse(stdout) as Started), startedPid: running.child.pid ?? 0 };
};

describe.skipIf(process.platform !== 'linux')('boundMemory', { meta: { needs: 'Linux' } }, () => {
  it('limits the new space to about 16 MB, and what malloc keeps, in the same process', async () => {
    expect((await start([], [])).newSpace).toBeGreaterThan(32 * MB);
    const bound = await start(['--no-warnings'], ['bound', 'a word'], { LANG: 'C' });
    expect(bound.newSpace).toBeLessThan(24 * MB);
    expect(bound.malloc).toContain('MALLOC_ARENA_MAX=1');
    expect(bound.pid).toBe(bound.startedPid);
    expect(bound.words).toEqual(['bound', 'a word']);
    expect(bound.execArgv).toContain('--no-warnings');
    expect(bound.env).toEqual({ LANG: 'C' });
  });

  it('leaves the sizes to someone who chose them', async () => {
    const larger = await start(['--max-semi-space-size=32'], ['bound']);
    expect(larger.newSpace).toBeGreaterThan(24 * MB);
    expect(larger.malloc).toContain('MALLOC_ARENA_MAX=1');
    const chosen = await start([], ['bound'], { MALLOC_ARENA_MAX: '3' });
    expect(chosen.malloc).toEqual(['MALLOC_ARENA_MAX=3']);
    expect(chosen.env).toEqual({ MALLOC_ARENA_MAX: '3' });
    expect(chosen.newSpace).toBeLessThan(24 * MB);
  });
});

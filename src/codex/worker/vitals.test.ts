import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import type { AppServer } from '../app-server.ts';
import { cpuMsIn, measureVitals } from './vitals.ts';

const saying = (answer: unknown): AppServer => ({
  request: async () => answer as never,
  watchThread: () => () => {},
});

describe('measureVitals', () => {
  it("combines the process's own report with the size of its home", async () => {
    const home = await mkdtemp(path.join(os.tmpdir(), 'vitals-'));
    try {
      await writeFile(path.join(home, 'logs.sqlite'), 'x'.repeat(1_000));
      await writeFile(path.join(home, 'logs.sqlite-wal'), 'x'.repeat(500));
      // A linked login counts elsewhere.
      await symlink('/', path.join(home, 'a'));
      const appServer = saying({
        process: { id: 1, residentMemoryBytes: 7, physicalFootprintBytes: null },
        gauges: [
          { name: 'core.turns.active', value: 9 },
          { name: 'core.threads.live', value: 3 },
        ],
      });
      expect(await measureVitals(appServer, 2 ** 30, home)).toEqual({
        residentBytes: 7,
        threads: 3,
        homeBytes: 1_501,
        freeBytes: expect.any(Number) as number,
        cpuMs: null,
      });
    } finally {
      await rm(home, { recursive: true });
    }
  });

  it('is empty if nothing is available', async () => {
    const appServer = saying({ process: { id: 1, residentMemoryBytes: null }, gauges: [] });
    expect(await measureVitals(appServer, 2 ** 30, '/nowhere/at/all')).toEqual({
      residentBytes: 0,
      threads: 0,
      homeBytes: 0,
      freeBytes: null,
      cpuMs: null,
    });
  });
});

describe('cpuMsIn', () => {
  it.each([
    ['7 (codex) S 1 7 7 0 -1 4194560 1 2 3 4 120 30 0 0 20 0 9', 1_500],
    ['7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 1 0 0 0 20 0 9', 10],
    ['garbage', null],
    ['', null],
  ])('%s', (stat, expected) => {
    expect(cpuMsIn(stat)).toBe(expected);
  });
});

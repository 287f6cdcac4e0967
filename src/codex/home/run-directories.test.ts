import { mkdtemp, mkdir, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { isStale, runDirectoryName, sweepRunDirectories } from './run-directories.ts';

const liveness = { ownPid: 10, ownStartMs: 1_000, isAlive: (pid: number) => pid === 20 };

describe('isStale', () => {
  it.each([
    ['of a dead process', '30-5000-ab12', true],
    ['of another live process', '20-5000-ab12', false],
    ['of this process', '10-1000-ab12', false],
    ['of an earlier process with our pid', '10-999-ab12', true],
    ['not a name of ours', 'notes', false],
    ['a name that only begins like ours', '30-5000-ab12.bak', false],
  ])('%s', (_, name, expected) => {
    expect(isStale(name, liveness)).toBe(expected);
  });
});

describe('sweepRunDirectories', () => {
  it('removes what the dead left, and only that', async () => {
    const parent = await mkdtemp(path.join(os.tmpdir(), 'sweep-'));
    // No process can have this pid: Linux ends at 2^22.
    const dead = runDirectoryName(2 ** 30, Date.now());
    const own = runDirectoryName(process.pid, Date.now());
    for (const name of [path.join(dead, 'deep'), own, 'other']) {
      await mkdir(path.join(parent, name), { recursive: true });
    }
    await sweepRunDirectories(parent);
    expect((await readdir(parent)).toSorted()).toEqual([own, 'other'].toSorted());
    await rm(parent, { recursive: true });
  });
});

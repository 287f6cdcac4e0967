import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { createRunDirectory, sweepRunDirectories } from './run-directories.ts';

let parent: string;
const others: ChildProcess[] = [];

beforeEach(async () => {
  parent = await mkdtemp(path.join(os.tmpdir(), 'runs %41#?-'));
});
afterEach(async () => {
  for (const other of others.splice(0)) other.kill('SIGKILL');
  await rm(parent, { recursive: true, force: true });
});

const MODULE = JSON.stringify(new URL('run-directories.ts', import.meta.url).href);
const OWN = [process.execPath, '--no-warnings', '--input-type=module', '-e'];
const ELSEWHERE = ['unshare', '--pid', '--fork', '--kill-child', ...OWN];
/** Root may remove everything. */
const ANYONE = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const NEEDS_UNSHARE = { meta: { needs: 'a second container: root and `unshare`' } };
const canUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;

/** Runs another process that shares the directory. Resolves to its first output. */
const run = async (
  command: readonly string[],
  code: string,
  user: { readonly uid?: number; readonly gid?: number } = {},
): Promise<readonly [string, ChildProcess]> => {
  const [file = '', ...words] = command;
  const script = `
    const { createRunDirectory, sweepRunDirectories } = await import(${MODULE});
    const parent = ${JSON.stringify(parent)};
    ${code}`;
  const other = spawn(file, [...words, script], { stdio: ['ignore', 'pipe', 'inherit'], ...user });
  others.push(other);
  const [said]: unknown[] = await once(other.stdout, 'data');
  return [String(said).trim(), other];
};

const holdOne = (command: readonly string[]) =>
  run(
    command,
    `const home = await createRunDirectory(parent);
     setInterval(() => {}, 1000);
     process.stdout.write((await import('node:path')).basename(home.path));`,
  );

const sweepBy = (command: readonly string[]) =>
  run(command, `await sweepRunDirectories(parent); process.stdout.write('swept');`);

const left = async (): Promise<readonly string[]> => (await readdir(parent)).toSorted();
const both = (name: string): readonly string[] => [name, `${name}.lock`];

describe('a run directory', () => {
  it('is removed with its lock, leaving nothing', async () => {
    const home = await createRunDirectory(parent);
    await writeFile(path.join(home.path, 'file'), 'x');
    const during = await left();
    await home.remove();
    await home.remove();
    expect([during, await left()]).toEqual([both(path.basename(home.path)), []]);
  });

  it('is removed with directories in it that a program has made read-only', async () => {
    if (ANYONE.uid !== undefined) await chown(parent, ANYONE.uid, ANYONE.gid);
    const code = `
      const { chmodSync, mkdirSync, writeFileSync } = await import('node:fs');
      const run = await createRunDirectory(parent, 'agent');
      mkdirSync(run.path + '/go/pkg', { recursive: true });
      writeFileSync(run.path + '/go/pkg/file', '');
      chmodSync(run.path + '/go/pkg', 0o555);
      chmodSync(run.path + '/go', 0);
      process.stdout.write(await run.remove().then(() => 'removed', ({ code }) => code));`;
    const [said] = await run(OWN, code, ANYONE);
    expect([said, await left()]).toEqual(['removed', []]);
  });

  it('is created even if its parent was removed', async () => {
    await rm(parent, { recursive: true });
    const home = await createRunDirectory(parent);
    expect(await left()).toEqual(both(path.basename(home.path)));
    await home.remove();
  });
});

describe('a sweep', () => {
  it('keeps directories of this process and their locks', async () => {
    const home = await createRunDirectory(parent);
    await sweepRunDirectories(parent);
    await sweepBy(OWN);
    expect(await left()).toEqual(both(path.basename(home.path)));
    await home.remove();
  });

  it('keeps directories of another process until that is killed', async () => {
    const [name, other] = await holdOne(OWN);
    await sweepRunDirectories(parent);
    const during = await left();
    const exited = once(other, 'exit');
    other.kill('SIGKILL');
    await exited;
    const after = await left();
    await sweepRunDirectories(parent);
    expect([during, after, await left()]).toEqual([both(name), both(name), []]);
  });

  it.skipIf(!canUnshare)('works across container boundaries, in both directions', NEEDS_UNSHARE, async () => {
    const home = await createRunDirectory(parent);
    const [theirs] = await holdOne(ELSEWHERE);
    await sweepRunDirectories(parent);
    // Pids differ in there: judged by pid, both processes would look dead.
    await sweepBy(ELSEWHERE);
    expect(await left()).toEqual([...both(path.basename(home.path)), ...both(theirs)].toSorted());
    await home.remove();
  });

  it('is about one kind of directory, and calls back before it removes one', async () => {
    const [home, agent] = [await createRunDirectory(parent), await createRunDirectory(parent, 'agent')];
    for (const name of ['home-0123456789abcdef', 'agent-0123456789abcdef'])
      await mkdir(path.join(parent, name));
    const swept: string[] = [];
    const rescue = async (directory: string): Promise<void> => {
      swept.push(path.basename(directory));
      expect(await left()).toContain(path.basename(directory));
    };
    await sweepRunDirectories(parent, rescue, 'agent');
    const kept = [...both(path.basename(agent.path)), ...both(path.basename(home.path))];
    expect([swept, await left()]).toEqual([
      ['agent-0123456789abcdef'],
      [...kept, 'home-0123456789abcdef'].toSorted(),
    ]);
    await home.remove();
    await agent.remove();
  });

  it('removes directories without a lock file, and nothing that is not ours', async () => {
    const old = `${process.pid}-${Date.now()}-ab12cd34`;
    for (const name of ['home-0123456789abcdef', path.join(old, 'deep'), 'notes', 'home-of-mine']) {
      await mkdir(path.join(parent, name), { recursive: true });
    }
    await writeFile(path.join(parent, 'home-fedcba9876543210.lock'), '');
    await sweepRunDirectories(parent);
    expect(await left()).toEqual(['home-of-mine', 'notes']);
  });

  it('keeps directories whose lock cannot be queried', async () => {
    const name = 'home-0123456789abcdef';
    await mkdir(path.join(parent, name));
    await mkdir(path.join(parent, `${name}.lock`));
    await sweepRunDirectories(parent);
    expect(await left()).toEqual(both(name));
  });

  it('removes none of the directories being created at the same time', async () => {
    const homes = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        if (index % 3 === 0) await sweepRunDirectories(parent);
        return createRunDirectory(parent);
      }),
    );
    expect(await left()).toEqual(homes.flatMap((home) => both(path.basename(home.path))).toSorted());
    await Promise.all(homes.map((home) => home.remove()));
    expect(await left()).toEqual([]);
  });
});

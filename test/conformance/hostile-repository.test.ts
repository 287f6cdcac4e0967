import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { hello } from '../support/scripts.ts';
import { startProxy } from '../support/proxy.ts';

/** A repository whose own codex settings start a program that leaves a mark. */
let root: string;
let marks: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(path.join(tmpdir(), 'hostile-')));
  marks = path.join(root, 'marks');
  await mkdir(marks);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const git = (cwd: string, ...args: readonly string[]): Promise<unknown> =>
  promisify(execFile)('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd });

/** Settings of a folder that start a program with codex. */
const plant = async (folder: string, name: string): Promise<void> => {
  await mkdir(path.join(folder, '.codex'), { recursive: true });
  const command = `touch ${path.join(marks, name)}`;
  const settings = `[mcp_servers.${name}]\ncommand = "sh"\nargs = ["-c", "${command}"]\n`;
  await writeFile(path.join(folder, '.codex', 'config.toml'), settings);
};

const repository = async (folder: string): Promise<string> => {
  await mkdir(folder, { recursive: true });
  await git(folder, 'init', '--quiet');
  await plant(folder, 'root');
  return folder;
};

/** The marks that are there after a turn with this folder. */
const marksOf = async (workdir: string, env: Readonly<Record<string, string>> = {}) => {
  const proxy = await startProxy(hello, {
    PROXY_CODEX_WORKDIR: workdir,
    PROXY_SANDBOX_MODE: 'workspace-write',
    ...env,
  });
  try {
    const answered = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?' });
    expect(answered.status).toBe(200);
  } finally {
    await proxy.close();
  }
  return readdir(marks);
};

describe('a hostile repository as PROXY_CODEX_WORKDIR', () => {
  it.each(['workspace-write', 'danger-full-access'])('starts no program with %s', async (mode) => {
    const folder = await repository(path.join(root, 'repo'));
    expect(await marksOf(folder, { PROXY_SANDBOX_MODE: mode })).toEqual([]);
  });

  it('starts no program without the relay', async () => {
    const folder = await repository(path.join(root, 'repo'));
    expect(await marksOf(folder, { PROXY_WIRE: 'off' })).toEqual([]);
  });

  it('starts no program from a folder inside of it', async () => {
    const folder = await repository(path.join(root, 'repo'));
    const inside = path.join(folder, 'a', 'b');
    await plant(path.join(folder, 'a'), 'between');
    await plant(inside, 'inside');
    expect(await marksOf(inside)).toEqual([]);
  });

  it('starts no program from a work tree, whose .git is a file', async () => {
    const folder = await repository(path.join(root, 'repo'));
    await git(folder, 'add', '.');
    await git(folder, 'commit', '--quiet', '-m', 'all');
    const tree = path.join(root, 'elsewhere', 'tree');
    await git(folder, 'worktree', 'add', '--quiet', tree);
    await plant(path.join(tree, 'a'), 'inside');
    expect(await marksOf(tree)).toEqual([]);
    expect(await marksOf(path.join(tree, 'a'))).toEqual([]);
  });

  it('starts no program from a folder that is reached through a link', async () => {
    const folder = await repository(path.join(root, 'repo'));
    await plant(path.join(folder, 'a'), 'inside');
    const link = path.join(root, 'link');
    await symlink(folder, link);
    expect(await marksOf(link)).toEqual([]);
    expect(await marksOf(path.join(link, 'a'))).toEqual([]);
  });

  it('starts no program from a folder that is not a repository', async () => {
    const folder = path.join(root, 'plain');
    await plant(folder, 'plain');
    expect(await marksOf(folder)).toEqual([]);
  });

  it('starts no program if the folder becomes a repository later', async () => {
    const folder = path.join(root, 'later');
    const inside = path.join(folder, 'a');
    await plant(inside, 'inside');
    const proxy = await startProxy(hello, {
      PROXY_CODEX_WORKDIR: inside,
      PROXY_SANDBOX_MODE: 'workspace-write',
    });
    try {
      await repository(folder);
      for (let turn = 0; turn < 2; turn += 1) {
        const answered = await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?' });
        expect(answered.status).toBe(200);
      }
    } finally {
      await proxy.close();
    }
    expect(await readdir(marks)).toEqual([]);
  });
});

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { keepCompiled } from './compile-cache.ts';

let stateDir: string;
beforeEach(async () => {
  stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-compiled-'));
});
afterEach(() => rm(stateDir, { recursive: true, force: true }));

/** The folders that Node is to use. */
const enabled = async (environment: Readonly<Record<string, string>> = {}): Promise<readonly string[]> => {
  const folders: string[] = [];
  const enable = (folder: string): void => void folders.push(folder);
  await keepCompiled({ PROXY_STATE_DIR: stateDir, ...environment }, { enable, maxFiles: 3 });
  return folders;
};

describe('compiled code', () => {
  it('is kept in a private folder of the state directory', async () => {
    const folder = path.join(stateDir, 'compile-cache');
    expect(await enabled()).toEqual([folder]);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  it('is not kept before there is a state directory', async () => {
    const none = path.join(stateDir, 'none');
    expect(await enabled({ PROXY_STATE_DIR: none })).toEqual([]);
    expect(await readdir(stateDir)).toEqual([]);
  });

  it.skipIf(process.platform === 'win32')(
    'is not kept where another user could write it',
    { meta: { needs: 'permissions, which Windows does not have' } },
    async () => {
      await mkdir(path.join(stateDir, 'compile-cache'));
      await chmod(path.join(stateDir, 'compile-cache'), 0o777);
      expect(await enabled()).toEqual([]);
    },
  );

  it('is kept elsewhere if the environment of Node says so', async () => {
    expect(await enabled({ NODE_COMPILE_CACHE: '/elsewhere' })).toEqual([]);
  });

  it('is removed when it has become too large', async () => {
    const folder = path.join(stateDir, 'compile-cache', 'v1');
    await mkdir(folder, { recursive: true });
    for (const name of ['a', 'b']) await writeFile(path.join(folder, name), '');
    await enabled();
    expect(await readdir(folder)).toEqual(['a', 'b']);
    await writeFile(path.join(folder, 'c'), '');
    await enabled();
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
    expect((await stat(path.dirname(folder))).mode & 0o777).toBe(0o700);
  });

  it('is written when a command ends, and threads write to the same folder', async () => {
    const { NODE_COMPILE_CACHE: _, ...environment } = process.env;
    const run = (...words: readonly string[]) =>
      promisify(execFile)(process.execPath, words, {
        cwd: path.join(import.meta.dirname, '../..'),
        env: { ...environment, PROXY_STATE_DIR: stateDir },
      });
    await run('bin/codex-app-server-proxy.js', '--version');
    const [version = '', ...others] = await readdir(path.join(stateDir, 'compile-cache'));
    expect(others).toEqual([]);
    expect((await readdir(path.join(stateDir, 'compile-cache', version))).length).toBeGreaterThan(10);
    const code = `import { keepCompiled } from './src/cli/compile-cache.ts';
      import { threadEnvironment } from './src/threads/thread-pool.ts';
      await keepCompiled(process.env);
      console.log(JSON.stringify(threadEnvironment()));`;
    const { stdout } = await run('--input-type=module', '--eval', code);
    expect(JSON.parse(stdout)).toEqual({ NODE_COMPILE_CACHE: path.join(stateDir, 'compile-cache') });
  });
});

import { execFileSync } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadOrCreateApiKey } from './own-secrets.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'api-key-file-'));
});
afterEach(async () => {
  await rm(root, { recursive: true, force: true });
});

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777;

describe('loadOrCreateApiKey', () => {
  it('creates a key that only its owner can read, and finds it again', async () => {
    const dir = join(root, 'a', 'state');
    const first = await loadOrCreateApiKey(dir);
    const file = join(dir, 'api-key');
    expect(first).toEqual({ key: expect.stringMatching(/^sk-proxy-[A-Za-z0-9_-]{43}$/), file, isNew: true });
    expect(await loadOrCreateApiKey(dir)).toEqual({ key: first.key, file, isNew: false });
    expect([await modeOf(dir), await modeOf(join(dir, 'api-key'))]).toEqual([0o700, 0o600]);
    expect(await readFile(join(dir, 'api-key'), 'utf8')).toBe(`${first.key}\n`);
  });

  it('creates one key when many start at once, and no other files', async () => {
    const made = await Promise.all(Array.from({ length: 20 }, () => loadOrCreateApiKey(root)));
    expect(new Set(made.map(({ key }) => key)).size).toBe(1);
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await readdir(root)).toEqual(['api-key']);
  });

  it('accepts a key written by the user, and makes the file private', async () => {
    const file = join(root, 'api-key');
    await writeFile(file, '  sk-mine \n');
    await chmod(file, 0o644);
    expect(await loadOrCreateApiKey(root)).toEqual({ key: 'sk-mine', file, isNew: false });
    expect(await modeOf(file)).toBe(0o600);
  });

  it('rejects a FIFO instead of waiting for its writer', async () => {
    const file = join(root, 'api-key');
    execFileSync('mkfifo', [file]);
    await expect(loadOrCreateApiKey(root)).rejects.toThrow(`${file} is not a regular file.`);
  });

  it.each([[''], ['\n'], ['two words']])('does not go on with a file that holds %j', async (text) => {
    const file = join(root, 'api-key');
    await writeFile(file, text);
    await expect(loadOrCreateApiKey(root)).rejects.toThrow(
      `${file} contains no key. Delete it: the next start creates a new one.`,
    );
  });
});

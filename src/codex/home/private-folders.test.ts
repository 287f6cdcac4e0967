import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openWorkFolders, projectFolders, requirePrivateState } from './private-folders.ts';
import { isMapped, problemOf, UntrustedPath } from './trusted-path.ts';

const OTHER_USER = 12_345;
/** Only root can change the owner of files. */
const isRoot = process.getuid?.() === 0;
const NEEDS_ROOT = { meta: { needs: 'files of another user: root' } };

let dir = '';
let state = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'private-folders-'));
  state = path.join(dir, 'state');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const refusal = async (): Promise<string | null> => {
  try {
    await requirePrivateState(state);
    return null;
  } catch (error) {
    if (error instanceof UntrustedPath) return error.message;
    throw error;
  }
};
const rights = async (file: string): Promise<number> => (await lstat(file)).mode & 0o777;

describe('the state directory', () => {
  it('is created for this user only, and accepted if others may only read it', async () => {
    expect([await refusal(), await rights(state)]).toEqual([null, 0o700]);
    await mkdir(path.join(state, 'codex'));
    await writeFile(path.join(state, 'api-key'), 'sk-1', { mode: 0o644 });
    await chmod(state, 0o755);
    expect(await refusal()).toBe(null);
  });

  it.each(['', 'codex', 'run', 'api-key', 'signature-key', 'codex/auth.json'])(
    'is rejected if others may write to it (%j)',
    async (name) => {
      await mkdir(path.join(state, 'codex'), { recursive: true, mode: 0o700 });
      await mkdir(path.join(state, 'run'), { mode: 0o700 });
      for (const file of ['api-key', 'signature-key', 'codex/auth.json'])
        await writeFile(path.join(state, file), '{}');
      expect(await refusal()).toBe(null);
      const spoilt = path.join(state, name);
      await chmod(spoilt, 0o777);
      expect(await refusal()).toContain(`Other users may write to ${spoilt}: `);
      expect(await refusal()).toContain(`chmod go-w ${spoilt}`);
    },
  );

  it.runIf(isRoot).each(['', 'codex', 'run', 'api-key', 'signature-key', 'codex/auth.json'])(
    'is rejected if another user owns it (%j)',
    NEEDS_ROOT,
    async (name) => {
      await mkdir(path.join(state, 'codex'), { recursive: true, mode: 0o700 });
      await mkdir(path.join(state, 'run'), { mode: 0o700 });
      for (const file of ['api-key', 'signature-key', 'codex/auth.json'])
        await writeFile(path.join(state, file), '{}');
      const spoilt = path.join(state, name);
      await chown(spoilt, OTHER_USER, OTHER_USER);
      expect(await refusal()).toContain(
        `${spoilt} belongs to user ${OTHER_USER}, and this server runs as user 0`,
      );
    },
  );

  it.runIf(isRoot)(
    'is rejected if reached through a link or folder of another user',
    NEEDS_ROOT,
    async () => {
      const theirs = path.join(dir, 'theirs');
      await mkdir(path.join(theirs, 'inner'), { recursive: true });
      await symlink(path.join(theirs, 'inner'), state);
      expect(await refusal()).toBe(null);
      await chown(theirs, OTHER_USER, OTHER_USER);
      expect(await refusal()).toContain(`${theirs} belongs to user ${OTHER_USER}`);
    },
  );

  it('is rejected in a folder where others may replace it, but not in one like /tmp', async () => {
    const open = path.join(dir, 'open');
    await mkdir(open);
    state = path.join(open, 'state');
    await chmod(open, 0o1777);
    expect(await refusal()).toBe(null);
    await chmod(open, 0o777);
    expect(await refusal()).toContain(`Other users may write to ${open}`);
  });
});

describe('permissions of other users', () => {
  const file = { uid: 1000, gid: 1000, mode: 0o100600, isLink: false };
  const found = (different: Partial<typeof file>, isWhole = true, trustsNoOwner = true): boolean =>
    problemOf('/x', { ...file, ...different }, { uid: 1000, trustsNoOwner, isWhole }) !== null;

  it.each([
    ['ours', {}, true, false],
    ['of root', { uid: 0, gid: 0 }, true, false],
    ['of another user', { uid: 1001 }, true, true],
    ['for a private group', { mode: 0o100660 }, true, false],
    ['for a group with others in it', { gid: 50, mode: 0o100660 }, true, true],
    ['for such a group, on the way', { gid: 50, mode: 0o040770 }, false, true],
    ['for such a group to create files in, on the way', { gid: 50, mode: 0o041770 }, false, false],
    ['for all', { mode: 0o100602 }, true, true],
    ['for all, on the way', { mode: 0o040777 }, false, true],
    ['for all to create files in, on the way', { mode: 0o041777 }, false, false],
    ['for all to create files in', { mode: 0o041777 }, true, true],
    ['a link', { mode: 0o120777, isLink: true }, true, false],
    ['a link of another user', { uid: 1001, mode: 0o120777, isLink: true }, true, true],
    ['without an owner here, on the way', { uid: 65_534 }, false, false],
    ['without an owner here', { uid: 65_534 }, true, true],
  ])('%s', (_, different, isWhole, expected) => {
    expect(found(different, isWhole)).toBe(expected);
  });

  it('trust an unmapped owner only if no user has that id', () => {
    expect(found({ uid: 65_534 }, false, false)).toBe(true);
    const maps = ['         0          0 4294967295\n', '0 1000 1\n', '0 1000 1\n1 100000 65536\n', ''];
    expect(maps.map((map) => isMapped(65_534, map))).toEqual([true, false, true, false]);
  });
});

describe('the default working directory', () => {
  let workDir = '';
  beforeEach(async () => {
    workDir = path.join(dir, 'codex-work');
    await requirePrivateState(state);
  });
  const open = (isChosen = false) => openWorkFolders({ stateDir: state, workDir, isChosen });
  const mcpDir = (): string => path.join(state, 'mcp');

  it('is created for this user only, and reused', async () => {
    const expected = { workDir, mcpDir: mcpDir(), instead: null };
    expect([await open(), await open()]).toEqual([expected, expected]);
    expect([await rights(workDir), await rights(mcpDir())]).toEqual([0o700, 0o700]);
    await chmod(workDir, 0o755);
    expect(await open()).toEqual(expected);
  });

  const own = (why: string) => ({
    workDir: path.join(state, 'work'),
    mcpDir: mcpDir(),
    instead: `${workDir} ${why}`,
  });

  it.each<readonly [string, string, () => Promise<unknown>]>([
    ['a link', 'is a symbolic link', () => symlink(tmpdir(), workDir)],
    ['a file', 'is not a folder', () => writeFile(workDir, '')],
    [
      'open to others',
      'may be written by other users',
      async () => {
        await mkdir(workDir);
        await chmod(workDir, 0o770);
      },
    ],
  ])('is replaced by one in the state directory if it is %s', async (_, why, prepare) => {
    await prepare();
    expect(await open()).toEqual(own(why));
    expect(await rights(path.join(state, 'work'))).toBe(0o700);
  });

  it.runIf(isRoot)(
    'is replaced by one in the state directory if another user created it',
    NEEDS_ROOT,
    async () => {
      await mkdir(workDir);
      await chown(workDir, OTHER_USER, OTHER_USER);
      expect(await open()).toEqual(own(`belongs to user ${OTHER_USER}`));
      expect(await readdir(workDir)).toEqual([]);
    },
  );

  it('is used unchecked if the operator chose it', async () => {
    workDir = path.join(dir, 'a', 'b');
    expect(await open(true)).toEqual({ workDir, mcpDir: mcpDir(), instead: null });
    await chmod(workDir, 0o777);
    expect((await open(true)).workDir).toBe(workDir);
  });
});

describe('the folders whose settings codex must not obey', () => {
  it('are the working directory and those above it, as written and as found on the disk', async () => {
    const root = await realpath(dir);
    await mkdir(path.join(root, 'repo', 'a'), { recursive: true });
    await symlink(path.join(root, 'repo'), path.join(root, 'link'));
    const above = ['/'];
    for (const name of root.split('/').slice(1)) above.push(path.join(above.at(-1) ?? '', name));
    expect([...(await projectFolders(path.join(root, 'link', 'a')))].toSorted()).toEqual(
      [...above, ...['link', 'link/a', 'repo', 'repo/a'].map((name) => path.join(root, name))].toSorted(),
    );
  });

  it.each([
    ['gitdir: ../repo/.git/worktrees/tree\n', true],
    ['gitdir: ../repo/.git/modules/tree\n', false],
    ['no path', false],
    [`gitdir: ${'x'.repeat(100_000)}`, false],
  ])('include the repository of a work tree: %.40s', async (text, isWorkTree) => {
    const root = await realpath(dir);
    const tree = path.join(root, 'tree');
    await mkdir(tree);
    await writeFile(path.join(tree, '.git'), text);
    expect((await projectFolders(tree)).includes(path.join(root, 'repo'))).toBe(isWorkTree);
  });
});

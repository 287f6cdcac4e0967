import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { workspaceAt } from '../../../../test/support/agent-workers.ts';
import { hiddenNow, Placeholders, readAgentsMd, requireFolder } from './workspace-folder.ts';

let folder: string;
const at = (name: string): string => path.join(folder, name);

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'workspace-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('the folder of a workspace', () => {
  it('must be where it was', async () => {
    const workspace = workspaceAt(at('one'));
    const failed = async (): Promise<unknown> =>
      requireFolder(workspace).then(
        () => null,
        (error: Error) => error.message,
      );
    expect(await failed()).toBe("The workspace 'shop' could not be used: it does not exist any more.");
    await writeFile(at('one'), '');
    expect(await failed()).toBe("The workspace 'shop' could not be used: it is not a folder any more.");
    await rm(at('one'));
    await mkdir(at('one'));
    expect(await failed()).toBe(null);
    await rename(at('one'), at('two'));
    await symlink(at('two'), at('one'));
    expect(await failed()).toBe("The workspace 'shop' could not be used: it is elsewhere now.");
  });

  it('hides what exists, and what a pattern may find', async () => {
    await writeFile(at('.env'), 'secret');
    await symlink('/nowhere', at('link'));
    const hide = ['.env', 'missing', 'link', '**/*.pem'];
    expect(await hiddenNow(workspaceAt(folder, { hide }))).toEqual(['.env', 'link', '**/*.pem']);
  });
});

describe('placeholders of codex', () => {
  /** What codex leaves if a command is ended. */
  const leave = async (): Promise<void> => {
    for (const name of ['.git', '.codex', '.agents', '.aws']) await mkdir(at(name), { recursive: true });
    await writeFile(at('.env'), '', { mode: 0o444 });
    await writeFile(at('a'), '', { mode: 0o444 });
  };

  it('are removed when the last run in a folder has ended', async () => {
    const placeholders = new Placeholders();
    const hidden = ['.env', 'a/b', '*.pem'];
    const first = await placeholders.enter(folder, hidden);
    const second = await placeholders.enter(folder, hidden);
    await first();
    await leave();
    expect(await readdir(folder)).toHaveLength(6);
    await second();
    expect(await readdir(folder)).toEqual([]);
  });

  it('of a command are removed although a run was there first', async () => {
    const placeholders = new Placeholders();
    const run = await placeholders.enter(folder);
    const command = await placeholders.enter(folder, ['.env']);
    await writeFile(at('.env'), '', { mode: 0o444 });
    await command();
    await run();
    expect(await readdir(folder)).toEqual([]);
  });

  it('are removed although the next run comes while those of the last one are removed', async () => {
    const placeholders = new Placeholders();
    const last = await placeholders.enter(folder);
    await mkdir(at('.git'));
    const [, next] = await Promise.all([last(), placeholders.enter(folder)]);
    await mkdir(at('.git'), { recursive: true });
    await next();
    expect(await readdir(folder)).toEqual([]);
  });

  it('are not confused with what was there, or has content', async () => {
    await mkdir(at('.codex'));
    await writeFile(at('.env'), '');
    const remove = await new Placeholders().enter(folder, ['.env', 'a/b', 'made']);
    await remove();
    expect((await readdir(folder)).toSorted()).toEqual(['.codex', '.env']);
    const again = new Placeholders();
    const removeAgain = await again.enter(folder, ['made']);
    await writeFile(at('made'), '');
    await mkdir(at('.git/objects'), { recursive: true });
    await removeAgain();
    expect((await readdir(folder)).toSorted()).toEqual(['.codex', '.env', '.git', 'made']);
  });
});

describe('AGENTS.md', () => {
  const read = (hide: readonly string[] = []) => readAgentsMd(workspaceAt(folder, { hide }));

  it('is read from a regular file in UTF-8', async () => {
    expect(await read()).toEqual({ text: null, problem: null });
    await writeFile(at('AGENTS.md'), 'Sei nett: grüße.');
    expect(await read()).toEqual({ text: 'Sei nett: grüße.', problem: null });
    for (const hidden of ['./AGENTS.md', '*.md'])
      expect(await read([hidden])).toEqual({ text: null, problem: null });
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['a link', () => symlink('/etc/passwd', at('AGENTS.md')), 'AGENTS.md is a link'],
    ['a folder', () => mkdir(at('AGENTS.md')), 'AGENTS.md is not a regular file'],
    ['a pipe', async () => execFileSync('mkfifo', [at('AGENTS.md')]), 'AGENTS.md is not a regular file'],
    ['large', () => writeFile(at('AGENTS.md'), 'x'.repeat(32_769)), 'AGENTS.md has more than 32 KiB'],
    ['binary', () => writeFile(at('AGENTS.md'), Buffer.from([0xff, 0xfe])), 'AGENTS.md is not UTF-8'],
  ])('is not read if it is %s', async (_, make, problem) => {
    await make();
    expect(await read()).toEqual({ text: null, problem });
  });
});

import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { WorkspaceCommand } from '../../src/features/agents/run/commands.ts';
import { hasSandbox, openAgentScene, runCommands, type AgentScene } from '../support/agent-workers.ts';

const never = new AbortController().signal;
const NEEDS_SANDBOX = { meta: { needs: 'user namespaces, for the sandbox of codex' } };
let scene: AgentScene;

const sh = (script: string, more: Partial<WorkspaceCommand> = {}): WorkspaceCommand => ({
  workspace: scene.workspace,
  access: 'write',
  command: ['sh', '-c', script],
  timeoutMs: 20_000,
  maxOutputBytes: 1_000,
  ...more,
});

const inside = (name: string): string => path.join(scene.workspace.path, name);

beforeAll(async () => {
  scene = await openAgentScene({
    workspace: () => ({
      hide: ['secrets', '.env'],
      env: { SHOP_TOKEN: 'of the workspace' },
      network: ['allowed.example.com'],
    }),
    environment: { SECRET_X: 'leaked' },
  });
  await mkdir(inside('deep'));
  await mkdir(inside('secrets'));
  await writeFile(inside('deep/hello.txt'), 'hello');
  await writeFile(inside('secrets/hello.key'), 'hidden');
  await writeFile(path.join(scene.root, 'hello-outside.txt'), 'outside');
  await symlink(scene.root, inside('up'));
});
afterAll(() => scene.close());

describe.skipIf(!hasSandbox)('a command in a workspace', NEEDS_SANDBOX, () => {
  it('runs in its sandbox, with its variables', async () => {
    const script = `pwd; cat hello.txt; echo; echo "$SHOP_TOKEN$SECRET_X"; cat ../secrets/hello.key ${scene.stateDir}/run/*/config.toml; exit 3`;
    expect(await scene.workers.exec(sh(script, { folder: 'deep' }), never)).toEqual({
      exitCode: 3,
      stdout: `${inside('deep')}\nhello\nof the workspace\n`,
      stderr: expect.stringMatching(/hello\.key[^\n]*\n[^\n]*config\.toml[^\n]*\n$/),
      isTimedOut: false,
    });
  });

  it('changes nothing with the access `read`', async () => {
    const result = await scene.workers.exec(
      sh('touch made; touch ~/made; echo $?', { access: 'read' }),
      never,
    );
    expect([result.stdout, await readdir(scene.workspace.path)]).toEqual([
      '0\n',
      expect.not.arrayContaining(['made']),
    ]);
  });

  it('has a home of its own, of which nothing is left', async () => {
    const homes = path.join(scene.stateDir, 'run');
    await scene.workers.exec(sh('mkdir -p ~/a; touch ~/a/b "$TMPDIR/c"; chmod 500 ~/a'), never);
    const { stdout } = await scene.workers.exec(sh('ls -A ~ "$TMPDIR" ~/.. | grep -v codex-bwrap'), never);
    expect(stdout.match(/^(?:[abc]|command-.*)$/gm)).toEqual([expect.stringMatching(/^command-\w{16}$/)]);
    const left = await readdir(homes, { recursive: true });
    expect(left.filter((name) => name.includes('command-'))).toEqual([]);
  });

  it('does not make what is protected, also when other commands and runs have ended', async () => {
    const long = scene.workers.exec(sh('sleep 3; mkdir -p .git/hooks .codex/x; echo $?'), never);
    await scene.workers.exec(sh('sleep 0.3'), never);
    await runCommands(scene, { short: 'true' });
    expect((await long).stdout).toBe('1\n');
    expect((await readdir(scene.workspace.path)).toSorted()).toEqual(['deep', 'secrets', 'up']);
  });

  it('reaches no host that is not named, and not this machine', async () => {
    const script = `for host in 127.0.0.1:${scene.model.port} other.example.com; do curl -sS -m 5 http://$host/; echo " $?"; curl -sS -m 5 --noproxy '*' http://$host/; echo $?; done`;
    const { stdout } = await scene.workers.exec(sh(script), never);
    const lines = stdout.trim().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/"status":"blocked".*"host":"127\.0\.0\.1"|.*blocked.*/),
      expect.stringMatching(/^[1-9]\d*$/),
      expect.stringMatching(/blocked/i),
      expect.stringMatching(/^[1-9]\d*$/),
    ]);
    expect(scene.model.strangers).toEqual([]);
  });

  it('has a limit of output and of time', async () => {
    const long = await scene.workers.exec(sh('yes | head -c 100000; yes 2>&1 >&2 | true'), never);
    expect([long.stdout.length <= 1_000, long.exitCode]).toEqual([true, 0]);
    const slow = await scene.workers.exec(
      sh('echo a; (setsid sleep 300 &) ; sleep 300', { timeoutMs: 300 }),
      never,
    );
    expect(slow).toMatchObject({ isTimedOut: true, stdout: expect.stringMatching(/^(a\n)?$/) });
    expect((await readdir(scene.workspace.path)).toSorted()).toEqual(['deep', 'secrets', 'up']);
  });

  it('is ended with its signal', async () => {
    await expect(scene.workers.exec(sh('sleep 300'), AbortSignal.timeout(300))).rejects.toThrow('timeout');
    await expect(scene.workers.exec(sh('true'), AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    );
    expect((await scene.workers.exec(sh('ls /proc | grep -c "^[0-9]"'), never)).exitCode).toBe(0);
  });

  it('does not start outside', async () => {
    await expect(scene.workers.exec(sh('true', { folder: '../other' }), never)).rejects.toMatchObject({
      failure: { kind: 'invalid_value', param: 'cwd' },
    });
    const linked = await scene.workers.exec(sh('ls', { folder: 'up' }), never);
    expect(linked.stdout).not.toContain('hello-outside');
  });
});

describe.skipIf(!hasSandbox)('a further folder of a workspace for reading', NEEDS_SANDBOX, () => {
  it('is changed, but what is protected in it is not made', async () => {
    const cache = (root: string): string => path.join(root, 'cache');
    await using other = Object.assign(
      await openAgentScene({
        async workspace(root) {
          await mkdir(cache(root));
          return { access: 'read', write: [cache(root)] };
        },
      }),
      { [Symbol.asyncDispose]: () => other.close() },
    );
    const exec = (script: string) =>
      other.workers.exec(sh(script, { workspace: other.workspace, access: 'read' }), never);
    const long = exec(`cd ${cache(other.root)}; sleep 1.5; touch made; mkdir -p .git/hooks; echo $?`);
    await exec('sleep 0.3');
    expect([(await long).stdout, await readdir(cache(other.root))]).toEqual(['1\n', ['made']]);
  });
});

describe.skipIf(!hasSandbox)('a search in a workspace', NEEDS_SANDBOX, () => {
  it('finds files by parts of their names, but none that are hidden or elsewhere', async () => {
    expect(await scene.workers.searchFiles(scene.workspace, 'hlo', never)).toEqual([
      { path: 'deep/hello.txt', isFolder: false, score: expect.any(Number) },
    ]);
  });
});

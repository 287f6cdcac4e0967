import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { workspaceAt } from '../../../../test/support/agent-workers.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { AppServer } from '../../../codex/app-server.ts';
import { ConnectionClosed } from '../../../codex/rpc/errors.ts';
import { runCommand, searchFiles } from './commands.ts';
import type { LeasedWorker } from './pool.ts';

const never = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'commands-')));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const at = (name: string): string => path.join(folder, name);

const home = '/run/agent-1/0/command-0123456789abcdef';

/** A command on an app-server that answers so. */
const run = (answer: (env: NodeJS.ProcessEnv) => Promise<unknown>, signal: AbortSignal) => {
  const request = (_: string, { env = {} }: { env?: NodeJS.ProcessEnv }) => answer(env);
  const leased = {
    appServer: { request } as unknown as AppServer,
    sandboxOf: () => ({ layout: { searchFolder: null }, runFolder: '/run/agent-1/0' }),
  } as unknown as LeasedWorker;
  const command = { workspace: workspaceAt(folder), access: 'read', command: ['ls'] } as const;
  return runCommand(leased, { ...command, timeoutMs: 9_000, maxOutputBytes: 9 }, { home, signal });
};

describe('a command', () => {
  it('does not start after its signal was aborted', async () => {
    let starts = 0;
    const answer = async (): Promise<unknown> => {
      starts += 1;
      return { exitCode: 0, stdout: '', stderr: '' };
    };
    await expect(run(answer, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    expect(starts).toBe(0);
  });

  const needs = { meta: { needs: 'processes in /proc: Linux' } };
  it.skipIf(process.platform !== 'linux')(
    'is ended even if it starts long after its signal',
    needs,
    async () => {
      const ends: unknown[] = [];
      const late = async (env: NodeJS.ProcessEnv): Promise<unknown> => {
        await sleep(2_200);
        const child = spawn('sleep', ['20'], { env: { ...process.env, ...env }, stdio: 'ignore' });
        ends.push((await once(child, 'exit'))[1]);
        return { exitCode: 137, stdout: '', stderr: '' };
      };
      await expect(run(late, AbortSignal.timeout(10))).rejects.toThrow('timeout');
      expect(ends).toEqual(['SIGKILL']);
    },
  );

  it('is lost with its app-server', async () => {
    await expect(run(() => Promise.reject(new ConnectionClosed()), never)).rejects.toMatchObject({
      failure: { kind: 'worker_lost' },
    });
  });
});

describe('a search', () => {
  const search = (workspace: Workspace, answer: () => Promise<unknown>, signal = never) =>
    searchFiles({ request: answer } as unknown as AppServer, { workspace, query: 'x' }, signal);

  it('shows nothing of hidden folders, also of those that a pattern hides', async () => {
    const names = ['a/secrets/x', 'a/b/keys-1/x', 'hidden/x', 'a/x'];
    for (const name of names) {
      await mkdir(path.dirname(at(name)), { recursive: true });
      await writeFile(at(name), '');
    }
    const files = names.map((name) => ({ path: name, match_type: 'file', score: 1 }));
    const hide = ['**/secrets', 'a/*/keys-*', 'hidden'];
    const found = await search(workspaceAt(folder, { hide }), async () => ({ files }));
    expect(found.map((file) => file.path)).toEqual(['a/x']);
  });

  it('is lost with its app-server', async () => {
    const lost = (): Promise<never> => Promise.reject(new ConnectionClosed());
    await expect(search(workspaceAt(folder), lost)).rejects.toMatchObject({
      failure: { kind: 'worker_lost' },
    });
    await expect(search(workspaceAt(folder), lost, AbortSignal.abort(new Error('gone')))).rejects.toThrow(
      'gone',
    );
  });
});

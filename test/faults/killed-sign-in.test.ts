import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { expect, it } from 'vitest';

import { sweepRunDirectories } from '../../src/codex/home/run-directories.ts';
import { startLoginIssuer } from '../support/login-issuer.ts';

/** A process that has started a sign-in, and says so. */
const SCRIPT = `
  import { findCodexBinary } from './src/codex/binary.ts';
  import { SignInSessions } from './src/features/sign-in/sign-in-sessions.ts';
  import { systemAmbient } from './src/kit/ambient.ts';
  const [stateDir] = process.argv.slice(1);
  const sessions = new SignInSessions({
    binary: findCodexBinary(), stateDir, loginHome: stateDir + '/login', login: { collect: async () => {} },
    environment: process.env, clientInfo: { name: 'test', title: null, version: '0' }, ambient: systemAmbient,
    onChange: async () => {}, onTrouble: console.error, onEnd: () => {},
  });
  console.log((await sessions.start('device')).userCode);
  setInterval(() => {}, 1000);
`;

/** The working directories of all processes of this user. */
const workingDirectories = async (): Promise<readonly string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  return Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
};

it.skipIf(process.platform !== 'linux')(
  'a server that is killed during a sign-in leaves no process, and the next start removes its home',
  { meta: { needs: 'Linux, for /proc' } },
  async () => {
    const issuer = await startLoginIssuer();
    issuer.isApproved = false;
    const stateDir = await mkdtemp(path.join(tmpdir(), 'killed-sign-in-'));
    const run = path.join(stateDir, 'run');
    const server = spawn(process.execPath, ['--input-type=module', '-e', SCRIPT, stateDir], {
      cwd: path.join(import.meta.dirname, '../..'),
      env: { PATH: process.env['PATH'], HOME: stateDir, ...issuer.environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [code] = (await once(server.stdout, 'data')) as [Buffer];
      expect(String(code)).toBe('CODE-12345\n');
      const home = (await readdir(run)).find((name) => !name.endsWith('.lock')) ?? '';
      expect(await workingDirectories()).toContain(path.join(run, home));
      server.kill('SIGKILL');
      await once(server, 'exit');
      await expect.poll(workingDirectories, { timeout: 20_000 }).not.toContain(path.join(run, home));
      await sweepRunDirectories(run);
      expect(await readdir(run)).toEqual([]);
    } finally {
      server.kill('SIGKILL');
      issuer.close();
      await rm(stateDir, { recursive: true, force: true });
    }
  },
);

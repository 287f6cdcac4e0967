import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { startModelServer, type ModelServer, type ModelServerOptions } from '../../src/demo/model-server.ts';
import { bundledCommand } from './bundle-command.ts';
import { COMPILE_CACHE } from './compile-cache.ts';
import { PATIENT_STORE } from './proxy.ts';

export interface RunningCommand {
  readonly child: ChildProcess;
  /** What it has printed so far. */
  readonly output: { out: string; err: string };
  readonly exited: Promise<[code: number | null, signal: NodeJS.Signals | null]>;
}

export interface CommandRoom {
  /** The user's home: empty and temporary. */
  readonly home: string;
  readonly stateDir: string;
  /**
   * `stdout`: the caller's file instead of a pipe that is read. `maxOpenFiles`: limit of file descriptors.
   * `input`: standard input; empty by default.
   */
  start(
    words: readonly string[],
    env?: Readonly<Record<string, string>>,
    stdout?: number,
    maxOpenFiles?: number,
    input?: string,
  ): RunningCommand;
  /** The same with npm: `npm run SCRIPT`. The child is npm. */
  startByNpm(script: string, env?: Readonly<Record<string, string>>): RunningCommand;
  /** A provider for the started commands, which is stopped with the room. */
  startModel(options: ModelServerOptions): Promise<ModelServer>;
  close(): Promise<void>;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const BIN = path.join(ROOT, 'bin/codex-app-server-proxy.js');

/**
 * Runs the real command like a user on a new machine. Nothing it requests leaves this machine. The bundle is the same
 * command, which starts faster.
 */
export const openCommandRoom = async (from: 'bundle' | 'sources' = 'bundle'): Promise<CommandRoom> => {
  const command = from === 'bundle' ? await bundledCommand() : BIN;
  const home = await mkdtemp(path.join(tmpdir(), 'proxy-command-'));
  const stateDir = path.join(home, 'state');
  const children: RunningCommand[] = [];
  const models: ModelServer[] = [];
  const spawned = (
    program: string,
    words: readonly string[],
    env: Readonly<Record<string, string>>,
    stdout?: number,
    input?: string,
  ): RunningCommand => {
    const child = spawn(program, words, {
      cwd: ROOT,
      env: {
        PATH: process.env['PATH'],
        ...COMPILE_CACHE,
        HOME: home,
        HTTPS_PROXY: 'http://127.0.0.1:9',
        PORT: '0',
        PROXY_STATE_DIR: stateDir,
        PROXY_CODEX_WORKDIR: path.join(home, 'work'),
        ...PATIENT_STORE,
        PROXY_WARMUP: 'off',
        ...env,
      },
      stdio: [input === undefined ? 'ignore' : 'pipe', stdout ?? 'pipe', 'pipe'],
    });
    child.stdin?.end(input);
    const output = { out: '', err: '' };
    child.stdout?.on('data', (chunk: Buffer) => (output.out += chunk.toString()));
    child.stderr?.on('data', (chunk: Buffer) => (output.err += chunk.toString()));
    const exited = once(child, 'close') as RunningCommand['exited'];
    const running = { child, output, exited };
    children.push(running);
    return running;
  };
  return {
    home,
    stateDir,
    start(words, env = {}, stdout, maxOpenFiles, input) {
      const limit = maxOpenFiles === undefined ? '' : `ulimit -n ${maxOpenFiles}; `;
      const line = ['-c', `${limit}exec "$@"`, 'sh', process.execPath, command, ...words];
      return spawned('sh', line, env, stdout, input);
    },
    startByNpm: (script, env = {}) => spawned('npm', ['run', '--silent', script], env),
    async startModel(options) {
      const model = await startModelServer(options);
      models.push(model);
      return model;
    },
    async close() {
      for (const { child, exited } of children) {
        if (child.exitCode === null && child.signalCode === null) {
          child.kill('SIGKILL');
          await exited;
        }
      }
      for (const model of models) await model.close();
      await rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
};

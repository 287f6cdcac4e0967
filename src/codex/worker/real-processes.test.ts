import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { isAlive } from '../../../test/support/is-alive.ts';
import { startRealPool } from '../../../test/support/real-pool.ts';
import { runOne } from '../../../test/support/real-turn.ts';
import { startSmallestModel, type SmallestModel } from '../../../test/support/smallest-model.ts';
import { until } from '../../../test/support/until.ts';
import { findCodexBinary } from '../binary.ts';
import { prepareHomes } from '../home/prepare-home.ts';
import { createWorkerSpawner } from './spawn-worker.ts';
import type { WorkerPool, WorkerPoolEvent, WorkerPoolOptions } from './supervisor.ts';

const never = new AbortController().signal;
let model: SmallestModel;
let stateDir: string;
let pool: WorkerPool;
let events: WorkerPoolEvent[];
beforeAll(async () => {
  model = await startSmallestModel();
});
afterAll(() => model.close());

beforeEach(async () => {
  stateDir = await mkdtemp(path.join(os.tmpdir(), 'pool-'));
  events = [];
});
afterEach(async () => {
  await pool.drain(0);
  await rm(stateDir, { recursive: true, force: true });
});

/** These tests must not use a login of the developer. */
const environment = { ...process.env, CODEX_HOME: undefined };

const startPool = async (different: Partial<WorkerPoolOptions> = {}): Promise<void> => {
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment });
  const backend = { kind: 'upstream', baseUrl: model.baseUrl, apiKeyEnv: null } as const;
  pool = await startRealPool(homes, backend, {
    pool: {
      // Twenty times as fast: a worker may retire a quarter of a second after its start.
      clock: { now: () => Date.now() * 20 },
      onEvent: (event) => events.push(event),
      ...different,
    },
  });
};

const pidsOf = (seen: readonly WorkerPoolEvent[]): readonly number[] =>
  seen.flatMap((event) => (event.kind === 'worker-ready' ? [event.pid] : []));

describe('the pool with the real app-server', () => {
  it('reports a killed worker as lost at once, and soon has another', async () => {
    await startPool();
    const lease = await pool.lease(never);
    const pid = pool.describe()[0]?.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(() => !pool.ready);
    const readyMeanwhile = pool.ready;
    lease.release();
    expect([readyMeanwhile, (await runOne(pool)).at(-1)]).toEqual([false, 'completed']);
    expect(events.map((event) => event.kind).filter((kind) => kind !== 'worker-stopped')).toEqual([
      'worker-ready',
      'worker-lost',
      'worker-ready',
    ]);
  });

  it('replaces retiring workers under load without a failure, leaving nothing behind', async () => {
    await startPool({ maxThreads: 5 });
    const outcomes: (string | undefined)[] = [];
    const client = async (): Promise<void> => {
      while (pidsOf(events).length < 4) outcomes.push((await runOne(pool)).at(-1));
    };
    await Promise.all([client(), client(), client()]);
    const pids = pidsOf(events);
    await pool.drain(5_000);
    expect([
      outcomes.filter((outcome) => outcome !== 'completed'),
      outcomes.length > 15,
      events.filter((event) => event.kind === 'worker-lost' || event.kind === 'start-failed'),
      pids.filter(isAlive),
      await readdir(path.join(stateDir, 'run')),
    ]).toEqual([[], true, [], [], []]);
  });

  it('does not start with a bad binary, and reports why', async () => {
    await startPool();
    const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment });
    const spawnWith = (binary: string) =>
      createWorkerSpawner({
        homes: { ...homes, binary: { path: binary, version: '0' } },
        backend: { kind: 'none' },
        clientInfo: { name: 'test', title: null, version: '0' },
        onStderr: () => {},
        onListenerError: () => {},
      })();
    await expect(spawnWith('/nowhere/codex')).rejects.toThrow(
      'codex app-server did not start; stderr: spawn',
    );
    await expect(spawnWith('/bin/false')).rejects.toThrow('codex app-server did not start');
    await pool.drain(0);
    expect(await readdir(path.join(stateDir, 'run'))).toEqual([]);
  });

  it('leaves no orphan when we are killed, and the next start removes its home', async () => {
    const parent = runScript('process.stdout.write(pool.describe()[0].pid + "\\n");');
    const [line]: unknown[] = await once(parent.stdout, 'data');
    const pid = Number(String(line));
    expect([pid > 0, isAlive(pid)]).toEqual([true, true]);
    const exited = once(parent, 'exit');
    parent.kill('SIGKILL');
    await exited;
    await until(() => !isAlive(pid));
    const left = await readdir(path.join(stateDir, 'run'));
    await startPool();
    const now = await readdir(path.join(stateDir, 'run'));
    // A home and its lock.
    expect([left.length, now.length, now.some((name) => left.includes(name))]).toEqual([2, 2, false]);
  });

  it('keeps nothing of our process alive after a drain', async () => {
    await startPool();
    const script = runScript(
      '(await pool.lease(new AbortController().signal)).release(); await pool.drain(0);',
    );
    expect(await once(script, 'exit')).toEqual([0, null]);
  });
});

/** Starts a pool in a separate process, then runs the given code there. */
const runScript = (code: string) => {
  const here = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href);
  const script = `
    const { findCodexBinary } = await import(${here('../binary.ts')});
    const { prepareHomes } = await import(${here('../home/prepare-home.ts')});
    const { createWorkerSpawner } = await import(${here('spawn-worker.ts')});
    const { createWorkerPool } = await import(${here('supervisor.ts')});
    const homes = await prepareHomes({
      stateDir: ${JSON.stringify(stateDir)}, binary: findCodexBinary(),
      environment: { ...process.env, CODEX_HOME: undefined },
    });
    const pool = createWorkerPool({
      spawnWorker: createWorkerSpawner({
        homes, backend: { kind: 'none' }, clientInfo: { name: 't', title: null, version: '0' },
        onStderr: () => {}, onListenerError: () => {},
      }),
      size: 1, hangTimeoutMs: 9999, maxThreads: 9, maxRssMb: 999, maxHomeMb: 999, waitMs: 9999, clock: Date, onEvent: () => {},
    });
    await pool.start();
    ${code}
  `;
  return spawn(process.execPath, ['--input-type=module', '--no-warnings', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
};

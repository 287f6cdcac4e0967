import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { closedHost } from '../../../test/support/closed-host.ts';
import { startRealPool } from '../../../test/support/real-pool.ts';
import { runOne, runTurn, THREAD } from '../../../test/support/real-turn.ts';
import { startSmallestModel, type SmallestModel } from '../../../test/support/smallest-model.ts';
import { until } from '../../../test/support/until.ts';
import { findCodexBinary } from '../binary.ts';
import { directLogin, type BackendTarget } from '../home/backend.ts';
import { prepareHomes } from '../home/prepare-home.ts';
import type { WorkerPool } from './supervisor.ts';

const never = new AbortController().signal;
let model: SmallestModel;
let stateDir: string;
let pool: WorkerPool;
let unknown: string[];
beforeAll(async () => {
  model = await startSmallestModel();
});
afterAll(() => model.close());

beforeEach(async () => {
  stateDir = await mkdtemp(path.join(os.tmpdir(), 'pool-'));
  unknown = [];
  model.requests.length = 0;
  model.keys.length = 0;
});
afterEach(async () => {
  await pool.drain(0);
  await rm(stateDir, { recursive: true, force: true });
});

/** These tests must not use a login of the developer. */
const environment = { ...process.env, CODEX_HOME: undefined, TEST_UPSTREAM_KEY: 'sk-upstream' };

const startPool = async (backend?: BackendTarget): Promise<void> => {
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment });
  pool = await startRealPool(
    homes,
    backend ?? { kind: 'upstream', baseUrl: model.baseUrl, apiKeyEnv: null },
    {
      worker: {
        onUnknownNotification: (method) => unknown.push(method),
        onMalformedLine: (reason) => unknown.push(reason),
        onListenerError: (error) => unknown.push(String(error)),
      },
    },
  );
};

describe('the pool with the real app-server', () => {
  it('runs a turn: the model sees only the injected item, and we see its delta', async () => {
    await startPool();
    const seen = await runOne(pool);
    const lease = await pool.lease(never);
    const { process: usage } = await lease.appServer.request('server/diagnostics', {});
    lease.release();
    expect([seen, unknown, model.requests, usage.id]).toEqual([
      [
        'rawResponseItem/completed',
        'item/started',
        'delta: ok',
        'rawResponseItem/completed',
        'rawResponse/completed',
        'thread/tokenUsage/updated',
        'turn/completed',
        'completed',
      ],
      [],
      [
        expect.objectContaining({
          input: [
            expect.objectContaining({
              type: 'message',
              role: 'user',
              content: [{ type: 'input_text', text: 'hi' }],
            }),
          ],
          tools: [],
        }),
      ],
      pool.describe()[0]?.pid,
    ]);
  });

  it("sends its backend's key, and no other", async () => {
    await startPool();
    await runOne(pool);
    await pool.drain(0);
    await startPool({ kind: 'upstream', baseUrl: model.baseUrl, apiKeyEnv: 'TEST_UPSTREAM_KEY' });
    await runOne(pool);
    await pool.drain(0);
    await writeFile(path.join(stateDir, 'codex', 'auth.json'), '{"OPENAI_API_KEY":"sk-login"}');
    await startPool({ ...directLogin('api-key'), baseUrl: model.baseUrl });
    await runOne(pool);
    expect(model.keys).toEqual([undefined, 'Bearer sk-upstream', 'Bearer sk-login']);
  });

  it('reports that the provider refuses connections, without retrying forever', async () => {
    await startPool({ kind: 'upstream', baseUrl: `http://${await closedHost()}/v1`, apiKeyEnv: null });
    expect((await runOne(pool)).slice(-2)).toEqual([
      'failed',
      JSON.stringify({ httpConnectionFailed: { httpStatusCode: null } }),
    ]);
  });

  it('keeps no unsubscribed thread, whether or not a turn ran on it', async () => {
    await startPool();
    const lease = await pool.lease(never);
    const { appServer } = lease;
    const loaded = async (): Promise<number | undefined> => {
      const { gauges } = await appServer.request('server/diagnostics', {});
      return gauges.find((gauge) => gauge.name === 'core.threads.live')?.value;
    };
    const unused = (await appServer.request('thread/start', THREAD)).thread.id;
    let used = '';
    await runTurn(lease, (threadId) => {
      used = threadId;
    });
    const before = await loaded();
    for (const threadId of [unused, used]) await appServer.request('thread/unsubscribe', { threadId });
    await until(async () => (await loaded()) === 0);
    lease.release();
    expect(before).toBe(2);
  });

  it('writes no rows to its log database', async () => {
    await startPool();
    const threads = await runTurns(20);
    const database = await openLogs();
    try {
      // Only rows of the first half: those of the last turns may not be written yet.
      const rows = rowsOf(database, threads.slice(0, 10));
      expect(rows === 0 ? 'no rows' : `${rows} rows: ${LOGS_CHANGED}`).toBe('no rows');
      // The same without the trigger, or the test would see no rows whatever happens.
      database.exec('DROP TRIGGER proxy_drops_logs');
      const logged = await runTurns(20);
      await until(() => rowsOf(database, logged) > 10);
    } finally {
      database.close();
    }
  });

  const LOGS_CHANGED =
    'codex writes its log database again, which costs CPU for each turn and each delta: see src/codex/home/log-database.ts';

  /** The threads of these turns. */
  const runTurns = async (count: number): Promise<readonly string[]> => {
    const threads: string[] = [];
    const lease = await pool.lease(never);
    for (let turn = 0; turn < count; turn += 1) await runTurn(lease, (threadId) => threads.push(threadId));
    lease.release();
    return threads;
  };

  const openLogs = async (): Promise<DatabaseSync> => {
    const runs = path.join(stateDir, 'run');
    const home = (await readdir(runs)).find((name) => !name.endsWith('.lock')) ?? '';
    const [logs, ...others] = (await readdir(path.join(runs, home))).filter((name) =>
      /^logs.*\.sqlite$/.test(name),
    );
    if (logs === undefined || others.length > 0) throw new Error(LOGS_CHANGED);
    return new DatabaseSync(path.join(runs, home, logs), { timeout: 1_000 });
  };

  const rowsOf = (database: DatabaseSync, threads: readonly string[]): number => {
    const marks = threads.map(() => '?').join(', ');
    const found = database
      .prepare(`SELECT count(*) AS rows FROM logs WHERE thread_id IN (${marks})`)
      .get(...threads);
    return Number(found?.['rows']);
  };
});

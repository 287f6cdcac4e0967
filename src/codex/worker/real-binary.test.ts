import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

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
});

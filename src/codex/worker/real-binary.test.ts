import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import type { ThreadSignal } from '../app-server.ts';
import { findCodexBinary } from '../binary.ts';
import { directLogin, type Backend } from '../home/backend.ts';
import { prepareHomes } from '../home/prepare-home.ts';
import { isKnownNotification } from '../protocol/methods.ts';
import { createWorkerSpawner } from './spawn-worker.ts';
import { createWorkerPool, type Lease, type WorkerPool, type WorkerPoolEvent } from './supervisor.ts';

const never = new AbortController().signal;
const requests: unknown[] = [];
const keys: (string | undefined)[] = [];
let model: Server;
let baseUrl: string;

/** The smallest model: says "ok" to everything. */
const answer = [
  { type: 'response.created', response: { id: 'resp_1' } },
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { type: 'message', role: 'assistant', id: 'msg_1', content: [] },
  },
  { type: 'response.output_text.delta', delta: 'ok' },
  {
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'message', role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'ok' }] },
  },
  {
    type: 'response.completed',
    response: { id: 'resp_1', usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
  },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join('');

beforeAll(async () => {
  model = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      keys.push(request.headers.authorization);
      requests.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
    });
  }).listen(0, '127.0.0.1');
  await once(model, 'listening');
  const address = model.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  baseUrl = `http://127.0.0.1:${address.port}/v1`;
});
afterAll(() => {
  model.close();
  model.closeAllConnections();
});

let stateDir: string;
let pool: WorkerPool;
let events: WorkerPoolEvent[];
let unknown: string[];

beforeEach(async () => {
  stateDir = await mkdtemp(path.join(os.tmpdir(), 'pool-'));
  events = [];
  unknown = [];
  requests.length = 0;
  keys.length = 0;
});
afterEach(async () => {
  await pool.drain(0);
  await rm(stateDir, { recursive: true, force: true });
});

/** A login that the developer has named is none of these tests' business. */
const environment = { ...process.env, CODEX_HOME: undefined, TEST_UPSTREAM_KEY: 'sk-upstream' };

const startPool = async (maxThreads: number, backend?: Backend): Promise<void> => {
  const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment });
  pool = createWorkerPool({
    spawnWorker: createWorkerSpawner({
      homes,
      backend: backend ?? { kind: 'upstream', baseUrl, apiKeyEnv: null },
      clientInfo: { name: 'test', title: null, version: '0.0.0' },
      onStderr: () => {},
      onUnknownNotification: (method) => unknown.push(method),
      onMalformedLine: (reason) => unknown.push(reason),
      onListenerError: (error) => unknown.push(String(error)),
    }),
    size: 1,
    hangTimeoutMs: 10_000,
    maxThreads,
    maxRssMb: 1024,
    maxHomeMb: 1024,
    waitMs: 20_000,
    // Twenty times as fast: a worker may be found worn a quarter of a second after its start.
    clock: { now: () => Date.now() * 20 },
    onEvent: (event) => events.push(event),
  });
  await pool.start();
};

/** A port on which nobody listens. */
const closedUrl = async (): Promise<string> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}/v1`;
};

const THREAD = {
  model: 'gpt-5.5',
  cwd: os.tmpdir(),
  baseInstructions: '',
  environments: [],
  ephemeral: true,
  experimentalRawEvents: true,
  approvalPolicy: 'never',
  sandbox: 'read-only',
} as const;

const runTurn = async (
  { appServer }: Lease,
  onStarted: (threadId: string) => void = () => {},
): Promise<readonly string[]> => {
  const { thread } = await appServer.request('thread/start', THREAD);
  onStarted(thread.id);
  const seen: string[] = [];
  const finished = new Promise<void>((resolve) => {
    const unwatch = appServer.watchThread(thread.id, (signal: ThreadSignal) => {
      if (signal.kind !== 'notification' || !isKnownNotification(signal)) return;
      seen.push(
        signal.method === 'item/agentMessage/delta' ? `delta: ${signal.params.delta}` : signal.method,
      );
      if (signal.method !== 'turn/completed') return;
      seen.push(signal.params.turn.status);
      const cause = signal.params.turn.error?.codexErrorInfo ?? null;
      if (cause !== null) seen.push(JSON.stringify(cause));
      unwatch();
      resolve();
    });
  });
  await appServer.request('thread/inject_items', {
    threadId: thread.id,
    items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
  });
  await appServer.request('turn/start', { threadId: thread.id, input: [], summary: 'none' });
  await finished;
  return seen;
};

const runOne = async (): Promise<readonly string[]> => {
  const lease = await pool.lease(never);
  try {
    return await runTurn(lease);
  } finally {
    lease.release();
  }
};

const pidsOf = (seen: readonly WorkerPoolEvent[]): readonly number[] =>
  seen.flatMap((event) => (event.kind === 'worker-ready' ? [event.pid] : []));

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

const until = async (condition: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await condition())) await sleep(20);
};

describe('the pool with the real app-server', () => {
  it('runs a turn: the model sees the injected item and nothing else, and we see its delta', async () => {
    await startPool(500);
    const seen = await runOne();
    const lease = await pool.lease(never);
    const { process: usage } = await lease.appServer.request('server/diagnostics', {});
    lease.release();
    expect([seen, unknown, requests, usage.id]).toEqual([
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

  it('sends the key that its backend needs, and no other', async () => {
    await startPool(500);
    await runOne();
    await pool.drain(0);
    await startPool(500, { kind: 'upstream', baseUrl, apiKeyEnv: 'TEST_UPSTREAM_KEY' });
    await runOne();
    await pool.drain(0);
    await writeFile(path.join(stateDir, 'codex', 'auth.json'), '{"OPENAI_API_KEY":"sk-login"}');
    await startPool(500, { ...directLogin('api-key'), baseUrl });
    await runOne();
    expect(keys).toEqual([undefined, 'Bearer sk-upstream', 'Bearer sk-login']);
  });

  it('says that nobody listens at the provider, and does not try for ever', async () => {
    await startPool(500, { kind: 'upstream', baseUrl: await closedUrl(), apiKeyEnv: null });
    expect((await runOne()).slice(-2)).toEqual([
      'failed',
      JSON.stringify({ httpConnectionFailed: { httpStatusCode: null } }),
    ]);
  });

  it('keeps no thread that is unsubscribed, whether or not a turn ran on it', async () => {
    await startPool(500);
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

  it('loses a killed worker at once, and has another soon', async () => {
    await startPool(500);
    const lease = await pool.lease(never);
    const pid = pool.describe()[0]?.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await until(() => !pool.ready);
    const readyMeanwhile = pool.ready;
    lease.release();
    expect([readyMeanwhile, (await runOne()).at(-1)]).toEqual([false, 'completed']);
    expect(events.map((event) => event.kind).filter((kind) => kind !== 'worker-stopped')).toEqual([
      'worker-ready',
      'worker-lost',
      'worker-ready',
    ]);
  });

  it('replaces worn workers under load without a failure, and leaves nothing behind', async () => {
    await startPool(5);
    const outcomes: (string | undefined)[] = [];
    const client = async (): Promise<void> => {
      while (pidsOf(events).length < 4) outcomes.push((await runOne()).at(-1));
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

  it('does not start with a bad binary, and says why', async () => {
    await startPool(500);
    const homes = await prepareHomes({ stateDir, binary: findCodexBinary(), environment });
    const spawnWith = (binary: string) =>
      createWorkerSpawner({
        homes: { ...homes, binary: { path: binary, version: '0' } },
        backend: { kind: 'none' },
        clientInfo: { name: 'test', title: null, version: '0.0.0' },
        onStderr: () => {},
        onListenerError: () => {},
      })();
    await expect(spawnWith('/nowhere/codex')).rejects.toThrow(
      'codex app-server did not start; it said: spawn',
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
    await startPool(500);
    const now = await readdir(path.join(stateDir, 'run'));
    // A home and its lock.
    expect([left.length, now.length, now.some((name) => left.includes(name))]).toEqual([2, 2, false]);
  });

  it('keeps nothing of our process alive after a drain', async () => {
    await startPool(500);
    const script = runScript(
      '(await pool.lease(new AbortController().signal)).release(); await pool.drain(0);',
    );
    expect(await once(script, 'exit')).toEqual([0, null]);
  });
});

/** Starts a pool in a process of its own, then runs the given code there. */
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

import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it, vi } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { openCommandRoom } from '../support/command.ts';
import { freshProxies } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const open = freshProxies();
const home = await mkdtemp(path.join(tmpdir(), 'proxy-warm-'));
afterAll(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

/** The rows of each table. */
const rowsIn = (file: string): JsonObject => {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = db.prepare("select name from sqlite_master where type = 'table'").all();
    const count = (name: string): number =>
      Number(db.prepare(`select count(*) as rows from "${name}"`).get()?.['rows']);
    return Object.fromEntries(tables.map(({ name }) => [String(name), count(String(name))]));
  } finally {
    db.close();
  }
};

/** Of the reader itself, and of what app-servers do without requests. */
const UNRELATED =
  /route="\/(?:metrics|v1\/(?:usage|codex))|^proxy_(?:request_seconds|rpc|pre|idle_threads|store_operation)|^#/;

/** What a request of a client would change. */
const leftIn = async (proxy: TestProxy, stateDir: string): Promise<JsonObject> => {
  const read = async (at: string): Promise<string> => (await proxy.get(at)).text();
  const metrics = (await read('/metrics')).split('\n').filter((line) => !UNRELATED.test(line));
  return {
    metrics,
    usage: await read('/v1/usage'),
    requests: await read('/v1/codex/requests'),
    rows: rowsIn(path.join(stateDir, 'state.db')),
    captures: await readdir(path.join(stateDir, 'captures')).catch(() => []),
    log: proxy.log.filter(
      (line) =>
        line['level'] !== 'debug' && !/^\/(?:metrics|v1\/(?:usage|codex))/.test(String(line['route'])),
    ) as JsonObject[],
    modelRequests: proxy.model.requests.length,
  };
};

const send = async (proxy: TestProxy): Promise<string> =>
  (await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi', stream: true })).text();

describe('the warm-up', () => {
  it('sends requests of every kind through the server, and leaves nothing behind', async () => {
    const stateDir = path.join(home, 'nothing');
    const env = {
      PROXY_STATE_DIR: stateDir,
      PROXY_LOG_CONTENT: 'true',
      PROXY_CAPTURE_DIR: path.join(stateDir, 'captures'),
    };
    const proxy = await open(hello, env);
    let before: JsonObject = {};
    const end = await proxy.app.warmUp({
      requests: 18,
      async beforeEach(index) {
        if (index === 0) before = await leftIn(proxy, stateDir);
      },
    });
    expect(end).toEqual({ requests: 18, cpuMs: expect.any(Number) as number, reason: 'done' });
    const ended = expect.objectContaining({ level: 'info', msg: 'warm-up ended', ...end }) as JsonObject;
    expect(await leftIn(proxy, stateDir)).toEqual({
      ...before,
      log: [...(before['log'] as JsonObject[]), ended],
    });
    await send(proxy);
    const after = await leftIn(proxy, stateDir);
    // A request of a client does leave something in each.
    for (const [name, left] of Object.entries(after)) expect.soft(left, name).not.toEqual(before[name]);
  });

  it('waits while the server answers a request of a client', async () => {
    const held = Promise.withResolvers<void>();
    const proxy = await open((_, connection) =>
      answer(connection, [{ wait: held.promise }, { text: 'Hello!' }]),
    );
    const seen: string[] = [];
    let answered: Promise<unknown> = Promise.resolve();
    const ended = proxy.app.warmUp({
      requests: 4,
      async beforeEach(index) {
        seen.push(`request ${index}`);
        if (index !== 2) return;
        answered = send(proxy).then(() => seen.push('answered'));
        await until(() => proxy.model.requests.length === 1);
      },
    });
    await until(() => seen.includes('request 2'));
    // Time for a warm-up that does not wait.
    await sleep(500);
    expect(seen).toEqual(['request 0', 'request 1', 'request 2']);
    held.resolve();
    await Promise.all([answered, ended]);
    expect(seen).toEqual(['request 0', 'request 1', 'request 2', 'answered', 'request 3']);
  });

  it('waits for a second after a request of a client, also one that it has not seen running', async () => {
    const proxy = await open(hello);
    const seen: string[] = [];
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const ended = proxy.app.warmUp({
        requests: 3,
        async beforeEach(index) {
          seen.push(`request ${index}`);
          if (index === 1) await send(proxy);
        },
      });
      await until(() => seen.includes('request 1') && proxy.model.requests.length === 1);
      // Time for a warm-up that does not wait.
      await sleep(500);
      vi.setSystemTime(Date.now() + 999);
      await sleep(200);
      expect(seen).toEqual(['request 0', 'request 1']);
      vi.setSystemTime(Date.now() + 1);
      await ended;
    } finally {
      vi.useRealTimers();
    }
    expect(seen).toEqual(['request 0', 'request 1', 'request 2']);
  });

  it('does not wait for readers of the log of requests, for dashboards or for probes', async () => {
    const proxy = await open(hello);
    const live = await proxy.get('/v1/codex/requests/live');
    const ended = proxy.app.warmUp({
      requests: 2,
      async beforeEach() {
        for (const at of ['/healthz', '/metrics', '/v1/codex/requests', '/nothing-there'])
          await (await proxy.get(at)).text();
        vi.useFakeTimers({ toFake: ['Date'] });
      },
    });
    try {
      expect(await ended).toMatchObject({ requests: 2, reason: 'done' });
    } finally {
      vi.useRealTimers();
      await live.body?.cancel();
    }
  });

  it('ends when the server stops', async () => {
    const proxy = await open(hello);
    let stopped: Promise<void> = Promise.resolve();
    const end = await proxy.app.warmUp({
      beforeEach(index) {
        if (index === 2) stopped = proxy.app.stop(5_000);
      },
    });
    await stopped;
    expect(end).toMatchObject({ requests: 2, reason: 'stopped' });
  });

  it('has a limit of CPU time', async () => {
    const proxy = await open(hello);
    expect(await proxy.app.warmUp({ maxCpuMs: 0 })).toMatchObject({ requests: 1, reason: 'out-of-budget' });
  });

  it('may fail', async () => {
    const proxy = await open(hello);
    const end = await proxy.app.warmUp({
      beforeEach(index) {
        if (index === 1) throw new Error('broken');
      },
    });
    expect(end).toMatchObject({ requests: 1, reason: 'failed' });
    expect(proxy.log).toContainEqual(expect.objectContaining({ level: 'info', msg: 'the warm-up failed' }));
    expect(await send(proxy)).toContain('response.completed');
  });

  it('can be switched off', async () => {
    const proxy = await open(hello, { PROXY_WARMUP: 'off' });
    expect(await proxy.app.warmUp()).toBe(null);
  });

  it('begins after the start of the command', async () => {
    const room = await openCommandRoom();
    try {
      const { child, output, exited } = room.start(['serve'], { PROXY_WARMUP: 'on' });
      await until(() => output.out.includes('"msg":"warm-up ended"'));
      child.kill('SIGTERM');
      await exited;
      expect(output.out).toContain('"reason":"done"');
    } finally {
      await room.close();
    }
  });
});

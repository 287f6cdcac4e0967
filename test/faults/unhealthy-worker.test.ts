import { spawnSync } from 'node:child_process';
import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { TestProxy } from '../support/proxy.ts';
import * as scripts from '../support/scripts.ts';
import { readSse, type SseFrame } from '../support/sse.ts';
import { ASK, askStream, askWhole, endOf, sendRaw, textIn } from './client.ts';
import { closeForGood, eventually, expectSound } from './settle.ts';
import { startWatchedProxy } from './workers.ts';

let proxy: TestProxy;
let stateDir: string;

/** Shorter than in production to keep the tests short; long enough for a worker that gets little CPU time. */
const HANG_TIMEOUT = { PROXY_WORKER_HANG_TIMEOUT_MS: '2000' };

const start = async (env: Readonly<Record<string, string>> = {}): Promise<void> => {
  proxy = await startWatchedProxy(scripts.hello, {
    ...HANG_TIMEOUT,
    PROXY_STATE_DIR: stateDir,
    ...env,
  });
};

beforeEach(async () => {
  stateDir = await mkdtemp(path.join(tmpdir(), 'ill-'));
});
afterEach(async () => {
  await expectSound(proxy);
  await closeForGood(proxy);
  expect(await readdir(path.join(stateDir, 'run'))).toEqual([]);
  await rm(stateDir, { recursive: true, force: true });
});

const signalWorker = (signal: 'SIGSTOP' | 'SIGKILL', which = 0): void => {
  const ready = proxy.app.workers().filter(({ state }) => state === 'ready');
  const worker = ready[which];
  if (worker === undefined) throw new Error('no such worker');
  process.kill(worker.pid, signal);
};

const readiness = async (): Promise<number> => (await proxy.get('/readyz')).status;
const healthProblems = (): readonly unknown[] =>
  proxy.log.flatMap((line) => (line['msg'] === 'worker-ill' ? [line['healthProblem']] : []));

const LOST = {
  message: 'The app-server stopped while it was answering.',
  type: 'server_error',
  param: null,
  code: 'worker_lost',
};

describe('a hung app-server', () => {
  it('in the middle of a stream: the client gets an error', async () => {
    await start();
    proxy.use(scripts.hangMidStream);
    const response = await sendRaw(proxy, { ...ASK, stream: true }).response;
    const frames: SseFrame[] = [];
    for await (const frame of readSse(response)) {
      frames.push(frame);
      if (frame.event === 'response.output_text.delta' && textIn(frames) === 'Wait for')
        signalWorker('SIGSTOP');
    }
    expect([textIn(frames), endOf(frames), healthProblems()]).toEqual([
      'Wait for',
      { last: ['error', 'response.failed', 'done'], error: LOST },
      ['hung'],
    ]);
  });

  it('before any output, with many turns: another one answers them all', async () => {
    await start();
    let isFirstRound = true;
    proxy.use((request, connection) =>
      isFirstRound ? scripts.hang(request, connection) : scripts.hello(request, connection),
    );
    const asked = [
      ...Array.from({ length: 8 }, () => askWhole(proxy).then(({ status }) => status)),
      askStream(proxy).then(({ frames }) => textIn(frames)),
    ];
    await eventually(
      () => proxy.model.requests.length,
      (count) => count >= 9,
    );
    isFirstRound = false;
    signalWorker('SIGSTOP');
    expect([await Promise.all(asked), healthProblems()]).toEqual([
      [...Array.from({ length: 8 }, () => 200), 'Hello from the scripted model.'],
      ['hung'],
    ]);
  });

  it('while idle: readiness reports it, and the next request is answered', async () => {
    await start();
    await askWhole(proxy);
    signalWorker('SIGSTOP');
    const unready = await eventually(readiness, (status) => status === 503);
    const ready = await eventually(readiness, (status) => status === 200);
    expect([unready, ready, (await askWhole(proxy)).status, healthProblems()]).toEqual([
      503,
      200,
      200,
      ['hung'],
    ]);
    expect(await (await proxy.get('/metrics')).text()).toContain(
      'proxy_worker_ailments_total{ailment="hung"} 1',
    );
  });

  it('at the time of a request: the request waits for another one', async () => {
    await start();
    await askWhole(proxy);
    signalWorker('SIGSTOP');
    expect((await askWhole(proxy)).status).toBe(200);
  });
});

describe('an app-server whose home is removed', () => {
  it('is replaced: the requests before and after are answered', async () => {
    await start();
    const since = proxy.model.requests.length;
    proxy.use(scripts.inTurn(scripts.hang, scripts.hello));
    const asked = askWhole(proxy);
    await eventually(
      () => proxy.model.requests.length - since,
      (count) => count >= 1,
    );
    await rm(path.join(stateDir, 'run'), { recursive: true, force: true });
    expect([(await asked).status, (await askWhole(proxy)).status, healthProblems()]).toEqual([
      200,
      200,
      ['home-gone'],
    ]);
  });
});

const NEEDS_MOUNT = { meta: { needs: 'a disk is mounted: root, `unshare` and `mount`' } };
const canMount = ((): boolean => {
  const probe = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']);
  return process.getuid?.() === 0 && probe.status === 0;
})();

describe('a disk that is full', () => {
  it.skipIf(!canMount)(
    'affects no running turn; clients get an error if no app-server can be started',
    NEEDS_MOUNT,
    async () => {
      const mount = (...words: readonly string[]) =>
        expect(spawnSync(words[0] ?? '', words.slice(1)).status).toBe(0);
      mount('mount', '-t', 'tmpfs', '-o', 'size=32m,mode=700', 'tmpfs', stateDir);
      try {
        await start();
        await askWhole(proxy);
        const filler = path.join(stateDir, 'filler');
        const fill = (bytes: number) => appendFile(filler, Buffer.alloc(bytes)).catch(() => {});
        await fill(40_000_000);
        const full = [(await askWhole(proxy)).status, (await askStream(proxy)).status, await readiness()];
        // The home of a killed one is removed, and would leave space for another.
        const filling = setInterval(() => void fill(200_000), 10);
        const refused = await eventually(
          () => {
            if (proxy.app.workers().some(({ state }) => state === 'ready')) signalWorker('SIGKILL');
            return askWhole(proxy);
          },
          ({ status }) => status === 503,
        );
        clearInterval(filling);
        const unready = await readiness();
        await rm(filler);
        const ready = await eventually(readiness, (status) => status === 200);
        expect([full, refused, unready, ready]).toEqual([
          [200, 200, 200],
          {
            status: 503,
            retryAfter: expect.stringMatching(/^\d$/),
            body: {
              error: {
                message: expect.stringMatching(/^The disk of the server is full/),
                type: 'server_error',
                param: null,
                code: 'worker_unavailable',
              },
            },
          },
          503,
          200,
        ]);
        await expectSound(proxy);
        await closeForGood(proxy);
      } finally {
        mount('umount', '-l', stateDir);
      }
      await start();
    },
  );
});

describe('one of several app-servers', () => {
  const startThree = async (): Promise<void> => {
    await start({ PROXY_WORKERS: '3' });
    await eventually(
      () => proxy.app.workers().length,
      (count) => count === 3,
    );
  };

  it.each(['SIGKILL', 'SIGSTOP'] as const)(
    'gets %s under load: other turns are not affected',
    async (signal) => {
      await startThree();
      const statuses: number[] = [];
      const end = new AbortController();
      const client = async (): Promise<void> => {
        while (!end.signal.aborted) statuses.push((await askWhole(proxy)).status);
      };
      const clients = Array.from({ length: 6 }, client);
      const after = (count: number): Promise<number> =>
        eventually(
          () => statuses.length,
          (seen) => seen >= count,
        );
      await after(20);
      const pids = proxy.app.workers().map(({ pid }) => pid);
      signalWorker(signal, 1);
      // While it is gone or hangs, the others continue.
      await after(statuses.length + 40);
      const stillReady = await readiness();
      const now = await eventually(
        () => proxy.app.workers().map(({ pid }) => pid),
        (list) => list.length === 3 && !list.includes(pids[1] ?? 0),
      );
      end.abort();
      await Promise.all(clients);
      expect({
        bad: statuses.filter((status) => status !== 200),
        stillReady,
        kept: pids.map((pid) => now.includes(pid)),
      }).toEqual({ bad: [], stillReady: 200, kept: [true, false, true] });
    },
  );
});

import { afterEach, beforeEach, vi } from 'vitest';

import { GatewayError } from '../../src/canonical/failure/failure.ts';
import type { AppServer } from '../../src/codex/app-server.ts';
import {
  createWorkerPool,
  type WorkerPool,
  type WorkerPoolEvent,
  type WorkerPoolOptions,
} from '../../src/codex/worker/supervisor.ts';
import type { Vitals } from '../../src/codex/worker/vitals.ts';
import type { Worker } from '../../src/codex/worker/worker.ts';

/** A worker pool over fake workers and a fake clock. A test file calls `useFakeClock()` first. */
export const never = new AbortController().signal;

const idleAppServer: AppServer = {
  request: () => Promise.reject(new Error('not asked in these tests')),
  watchThread: () => () => {},
};

export interface FakeWorker extends Worker {
  die(): void;
  /** It hangs: nothing is answered any more. */
  hang(): void;
  wakeUp(): void;
  /** Output that is not an answer. */
  speak(): void;
  stops: number;
  kills: number;
  questions: number;
  unanswered: number;
  hasHome: boolean;
  measured: Vitals;
}

export const fakeWorker = (pid: number): FakeWorker => {
  const lost = new AbortController();
  let received = 0;
  let isHanging = false;
  const open: (() => void)[] = [];
  const worker: FakeWorker = {
    pid,
    appServer: { ...idleAppServer },
    lost: lost.signal,
    stops: 0,
    kills: 0,
    questions: 0,
    unanswered: 0,
    hasHome: true,
    pulse: {
      received: () => received,
      unanswered: () => worker.unanswered,
      ask: () => {
        worker.questions += 1;
        if (isHanging) return new Promise<void>((resolve) => open.push(resolve));
        received += 1;
        return Promise.resolve();
      },
      hasHome: () => Promise.resolve(worker.hasHome),
    },
    hang: () => {
      isHanging = true;
    },
    speak: () => {
      received += 1;
    },
    wakeUp: () => {
      isHanging = false;
      received += 1;
      for (const answer of open.splice(0)) answer();
    },
    kill: () => {
      worker.kills += 1;
      lost.abort();
      return Promise.resolve();
    },
    measured: { residentBytes: 0, threads: 0, homeBytes: 0, freeBytes: null, cpuMs: 0 },
    vitals: () => Promise.resolve(worker.measured),
    stop: () => {
      worker.stops += 1;
      lost.abort();
      return Promise.resolve();
    },
    die: () => lost.abort(),
  };
  return worker;
};

/** A pool with fake workers. `fail` makes the next spawns fail, `hold` makes them wait for `go`. */
export const setUpPool = (overrides: Partial<WorkerPoolOptions> = {}) => {
  const workers: FakeWorker[] = [];
  const events: WorkerPoolEvent[] = [];
  const spawns: number[] = [];
  const control = { fail: 0, error: new Error('no'), hold: false, go: (): void => undefined };
  const startedAt = Date.now();
  const pool = createWorkerPool({
    spawnWorker: async () => {
      spawns.push(Date.now() - startedAt);
      if (control.hold) {
        await new Promise<void>((resolve) => {
          control.go = resolve;
        });
      }
      if (control.fail > 0) {
        control.fail -= 1;
        throw control.error;
      }
      const worker = fakeWorker(workers.length + 1);
      workers.push(worker);
      return worker;
    },
    size: 1,
    hangTimeoutMs: 10_000,
    maxThreads: 3,
    maxRssMb: 100,
    maxHomeMb: 100,
    waitMs: 10_000,
    clock: { now: () => Date.now() },
    onEvent: (event) => events.push(event),
    ...overrides,
  });
  pools.push(pool);
  const worker = (index: number): FakeWorker => {
    const found = workers[index];
    if (found === undefined) throw new Error(`there is no worker ${index}`);
    return found;
  };
  return { pool, worker, workers, events, spawns, control };
};

export const tick = (ms = 0) => vi.advanceTimersByTimeAsync(ms);
export const failureOf = async (promise: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await promise.catch((thrown: unknown) => thrown);
  return error instanceof GatewayError
    ? { kind: error.failure.kind, retryAfterSeconds: error.failure.retryAfterSeconds }
    : error;
};

const pools: WorkerPool[] = [];

/** Gives every test of the file a fake clock, and drains its pools at the end. */
export const useFakeClock = (): void => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(async () => {
    const drained = Promise.all(pools.splice(0).map((pool) => pool.drain(0)));
    await tick();
    await drained;
    const left = vi.getTimerCount();
    vi.useRealTimers();
    // A timer that outlives its pool would keep the process alive.
    if (left !== 0) throw new Error(`${left} timers are left`);
  });
};

import { describe, expect, it, vi } from 'vitest';

import {
  fakeWorker,
  failureOf,
  never,
  setUpPool as setUp,
  tick,
  useFakeClock,
} from '../../../test/support/worker-pool.ts';
import { failure, gatewayError } from '../../canonical/failure/failure.ts';
import { startFailure } from './supervisor.ts';

useFakeClock();

describe('leases', () => {
  it('come from the ready worker, and are counted', async () => {
    const { pool, worker } = setUp();
    await pool.start();
    const lease = await pool.lease(never);
    const during = pool.describe();
    lease.release();
    lease.release();
    expect([lease.appServer === worker(0).appServer, during, pool.describe()]).toEqual([
      true,
      [{ pid: 1, state: 'ready', leases: 1 }],
      [{ pid: 1, state: 'ready', leases: 0 }],
    ]);
  });

  it('wait for a worker for a limited time', async () => {
    const { pool, control, worker } = setUp({ waitMs: 1_000 });
    control.hold = true;
    const started = pool.start();
    const early = failureOf(pool.lease(never));
    await tick(1_000);
    const late = pool.lease(never);
    control.go();
    await started;
    expect([await early, (await late).appServer === worker(0).appServer]).toEqual([
      { kind: 'worker_unavailable', retryAfterSeconds: 1 },
      true,
    ]);
  });

  it('report when the next start is due', async () => {
    const { pool, control, worker } = setUp({ waitMs: 100 });
    await pool.start();
    control.fail = 3;
    worker(0).die();
    await tick(500 + 1_000 + 2_000);
    const failed = failureOf(pool.lease(never));
    await tick(100);
    expect(await failed).toEqual({ kind: 'worker_unavailable', retryAfterSeconds: 4 });
    await tick(4_000);
    expect(pool.ready).toBe(true);
  });

  it('end with their signal, before and while they wait', async () => {
    const { pool } = setUp();
    const caller = new AbortController();
    const gone = new Error('client gone');
    const waiting = failureOf(pool.lease(caller.signal));
    caller.abort(gone);
    expect([await waiting, await failureOf(pool.lease(caller.signal))]).toEqual([gone, gone]);
  });
});

describe('crashes', () => {
  it('fail the start if there is no first worker', async () => {
    const { pool, control, spawns } = setUp();
    control.fail = 1;
    await expect(pool.start()).rejects.toThrow('no');
    await tick(60_000);
    expect([pool.ready, spawns]).toEqual([false, [0]]);
  });

  it('cause restarts with back-off, and waiting leases are served', async () => {
    const { pool, control, worker, events, spawns } = setUp();
    await pool.start();
    const lease = await pool.lease(never);
    control.fail = 7;
    worker(0).die();
    const states = [worker(0).lost.aborted, pool.ready];
    lease.release();
    await tick(91_000);
    const waiting = pool.lease(never);
    await tick(501);
    expect({
      states,
      spawns,
      ready: pool.ready,
      leasedOn: (await waiting).appServer === worker(1).appServer,
      delays: events.flatMap((event) => (event.kind === 'start-failed' ? [event.retryInMs] : [])),
      others: events.filter((event) => event.kind !== 'start-failed'),
    }).toEqual({
      states: [true, false],
      spawns: [0, 500, 1_500, 3_500, 7_500, 15_500, 31_500, 61_500, 91_500],
      ready: true,
      leasedOn: true,
      delays: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
      others: [
        { kind: 'worker-ready', pid: 1 },
        { kind: 'worker-lost', pid: 1, leases: 1, restartInMs: 500 },
        { kind: 'worker-stopped', pid: 1 },
        { kind: 'worker-ready', pid: 2 },
      ],
    });
  });

  it('are forgotten after a quiet time', async () => {
    const { pool, worker, spawns } = setUp();
    await pool.start();
    worker(0).die();
    await tick(500);
    worker(1).die();
    await tick(1_000);
    await tick(121_000);
    worker(2).die();
    await tick();
    worker(3).die();
    await tick(500);
    expect(spawns).toEqual([0, 500, 1_500, 122_500, 123_000]);
  });

  it('count a worker that is dead on arrival as a failed start', async () => {
    const { pool, worker, events } = setUp({
      spawnWorker: () => {
        const dead = fakeWorker(9);
        dead.die();
        return Promise.resolve(dead);
      },
    });
    await expect(pool.start()).rejects.toThrow('as soon as it was ready');
    expect([pool.ready, pool.describe(), events]).toEqual([false, [], []]);
    expect(() => worker(0)).toThrow('no worker');
  });
});

describe('drain', () => {
  it('uses the shorter wait if called again', async () => {
    const { pool, worker } = setUp();
    await pool.start();
    await pool.lease(never);
    const retiring = pool.drain(2_147_483_647);
    const stopping = pool.drain(2_000);
    await tick(1_999);
    const before = worker(0).stops;
    await tick(1);
    await Promise.all([retiring, stopping]);
    expect([before, worker(0).stops, pool.describe()]).toEqual([0, 1, []]);
  });

  it('rejects new leases, waits for current ones, and stops everything', async () => {
    const { pool, worker } = setUp();
    await pool.start();
    const lease = await pool.lease(never);
    const drained = vi.fn<() => void>();
    const draining = pool.drain(5_000).then(drained);
    const refused = await failureOf(pool.lease(never));
    await tick(4_999);
    const before = { drained: drained.mock.calls.length, ready: pool.ready, stops: worker(0).stops };
    lease.release();
    await draining;
    expect([refused, before, worker(0).stops, pool.describe()]).toEqual([
      { kind: 'shutting_down', retryAfterSeconds: null },
      { drained: 0, ready: false, stops: 0 },
      1,
      [],
    ]);
  });

  it('gives up after its time: the leases are lost', async () => {
    const { pool, worker } = setUp();
    await pool.start();
    await pool.lease(never);
    const draining = Promise.all([pool.drain(5_000), pool.drain(1)]);
    await tick(5_000);
    await draining;
    expect([worker(0).lost.aborted, pool.describe()]).toEqual([true, []]);
  });

  it('rejects waiting leases, and does not restart', async () => {
    const { pool, worker, spawns } = setUp();
    await pool.start();
    worker(0).die();
    const waiting = failureOf(pool.lease(never));
    await pool.drain(1_000);
    await tick(60_000);
    expect([await waiting, spawns]).toEqual([{ kind: 'shutting_down', retryAfterSeconds: null }, [0]]);
  });

  it('stops a worker that becomes ready too late', async () => {
    const { pool, control, worker } = setUp();
    control.hold = true;
    const started = pool.start();
    const draining = pool.drain(1_000);
    control.go();
    await Promise.all([started, draining]);
    expect([worker(0).stops, pool.ready, pool.describe()]).toEqual([1, false, []]);
  });
});

const withCode = (code: string): Error => Object.assign(new Error(`${code}: it failed`), { code });
const didNotStart = (said: string, cause?: Error): Error =>
  new Error(`codex app-server did not start; it said: ${said}`, { cause });

const FULL = failure('worker_unavailable', {
  message:
    'The disk of the server is full: no app-server can start until there is space for PROXY_STATE_DIR.',
});
const NO_ROOM = failure('out_of_resources', { retryAfterSeconds: 1 });

describe('startFailure', () => {
  it.each([
    ['a file of the home', withCode('ENOSPC')],
    ['the user’s quota', withCode('EDQUOT')],
    ['a cause', didNotStart('nothing', withCode('ENOSPC'))],
    ['the database of the app-server', didNotStart('Error: (code: 13) database or disk is full')],
    ['a file of the app-server', didNotStart('Error: No space left on device (os error 28)')],
  ])('reports a full disk: %s', (_, error) => {
    expect(startFailure(error)).toEqual(FULL);
  });

  it.each([
    ['our spawn', didNotStart('spawn codex EMFILE', withCode('EMFILE'))],
    ['a file of the home', withCode('ENFILE')],
    ['the app-server', didNotStart('Error: Too many open files (os error 24)')],
  ])('reports a lack of descriptors: %s', (_, error) => {
    expect(startFailure(error)).toEqual(NO_ROOM);
  });

  it('repeats a failure meant for clients, and reports nothing about others', () => {
    const account = gatewayError('account_unavailable');
    expect([account, didNotStart('panicked'), 'text'].map(startFailure)).toEqual([
      account.failure,
      null,
      null,
    ]);
  });
});

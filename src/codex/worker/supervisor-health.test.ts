import { describe, expect, it, vi } from 'vitest';

import { failureOf, never, setUpPool, tick, useFakeClock } from '../../../test/support/worker-pool.ts';

useFakeClock();

const kindsIn = (events: readonly { readonly kind: string }[]): readonly string[] =>
  events.map((event) => event.kind);

describe('a hung worker', () => {
  it('is killed, and another one serves', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    await tick(60_000);
    await pool.lease(never);
    worker(0).hang();
    await tick(5_000);
    const early = [pool.ready, worker(0).kills];
    // A ping is sent at most once a second, and not answered for ten.
    await tick(7_000);
    expect({
      early,
      after: [worker(0).lost.aborted, worker(0).kills, pool.ready],
      next: (await pool.lease(never)).appServer === worker(1).appServer,
      events,
    }).toEqual({
      early: [true, 0],
      after: [true, 1, true],
      next: true,
      events: [
        { kind: 'worker-ready', pid: 1 },
        { kind: 'worker-ill', pid: 1, healthProblem: 'hung' },
        { kind: 'worker-lost', pid: 1, leases: 1, restartInMs: 0 },
        { kind: 'worker-stopped', pid: 1 },
        { kind: 'worker-ready', pid: 2 },
      ],
    });
  });

  it('is not ready before it is given up, and is ready again after any output', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    const readiness: boolean[] = [];
    worker(0).hang();
    await tick(4_000);
    readiness.push(pool.ready);
    await tick(4_000);
    readiness.push(pool.ready);
    worker(0).wakeUp();
    await tick(1_000);
    readiness.push(pool.ready);
    await tick(60_000);
    expect([readiness, kindsIn(events)]).toEqual([[true, false, true], ['worker-ready']]);
  });

  it('is not one that sends output, whether or not it answers pings', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    const lease = await pool.lease(never);
    worker(0).hang();
    for (let second = 0; second < 60; second += 1) {
      await tick(1_000);
      // A delta of a turn between two checks. The ping stays open.
      if (second % 5 === 0) worker(0).speak();
    }
    lease.release();
    expect([kindsIn(events), worker(0).kills]).toEqual([['worker-ready'], 0]);
  });

  it('is not pinged while its turns produce output', async () => {
    const { pool, worker } = setUpPool();
    await pool.start();
    const before = worker(0).questions;
    for (let second = 0; second < 30; second += 1) {
      worker(0).speak();
      await tick(1_000);
    }
    expect(worker(0).questions - before).toBe(0);
  });

  it('is not assumed if we were blocked: a late check is one check', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    worker(0).hang();
    await tick(3_000);
    // We were blocked for a minute: the answer is there but was not read yet.
    vi.setSystemTime(Date.now() + 60_000);
    await tick(1_000);
    worker(0).wakeUp();
    await tick(2_000);
    expect([kindsIn(events), pool.ready]).toEqual([['worker-ready'], true]);
  });

  it('is detected even while it retires, and while the pool drains', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    const old = await pool.lease(never);
    pool.renew();
    await tick();
    const young = await pool.lease(never);
    worker(0).hang();
    await tick(12_000);
    const first = [worker(0).lost.aborted, worker(1).lost.aborted];
    old.release();
    worker(1).hang();
    const drained = pool.drain(3_600_000);
    await tick(12_000);
    const second = worker(1).lost.aborted;
    young.release();
    await drained;
    expect([first, second, kindsIn(events)]).toEqual([
      [true, false],
      true,
      [
        'worker-ready',
        'worker-worn',
        'worker-ready',
        'worker-ill',
        'worker-lost',
        'worker-stopped',
        'worker-ill',
        'worker-lost',
        'worker-stopped',
      ],
    ]);
  });
});

describe('a worker whose home is gone', () => {
  it('is killed at once, and another one gets a new home', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    const lease = await pool.lease(never);
    worker(0).hasHome = false;
    await tick(1_000);
    lease.release();
    expect([worker(0).lost.aborted, kindsIn(events), events[1]]).toEqual([
      true,
      ['worker-ready', 'worker-ill', 'worker-lost', 'worker-stopped'],
      { kind: 'worker-ill', pid: 1, healthProblem: 'home-gone' },
    ]);
    await tick(500);
    expect(pool.ready).toBe(true);
  });

  it('is not one whose home cannot be checked', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    const looked = vi.spyOn(worker(0).pulse, 'hasHome').mockRejectedValueOnce(new Error('EIO'));
    looked.mockReturnValue(new Promise(() => {}));
    await tick(60_000);
    expect([kindsIn(events), looked.mock.calls.length]).toEqual([['worker-ready'], 2]);
  });
});

describe('a worker that leaves a call of a turn unanswered', () => {
  it('finishes its turns, and another one takes the next', async () => {
    const { pool, worker, events } = setUpPool();
    await pool.start();
    const lease = await pool.lease(never);
    worker(0).unanswered = 1;
    await tick(1_000);
    const next = await pool.lease(never);
    expect([
      worker(0).lost.aborted,
      next.appServer === worker(1).appServer,
      events.map((event) => ('wear' in event ? event.wear : event.kind)),
    ]).toEqual([false, true, ['worker-ready', 'stuck', 'worker-ready']]);
    lease.release();
    next.release();
  });
});

describe('a full disk', () => {
  it('keeps the old worker running, and is reported to clients without one', async () => {
    const { pool, worker, control } = setUpPool();
    await pool.start();
    control.fail = 99;
    control.error = Object.assign(new Error('no space'), { code: 'ENOSPC' });
    pool.renew();
    await tick(20_000);
    const meanwhile = await pool.lease(never);
    const servedBy = meanwhile.appServer === worker(0).appServer;
    meanwhile.release();
    worker(0).die();
    await tick();
    const refused = await pool.lease(never).catch((error: unknown) => error);
    expect([servedBy, await failureOf(Promise.reject(refused)), String(refused)]).toEqual([
      true,
      { kind: 'worker_unavailable', retryAfterSeconds: 1 },
      'GatewayError: The disk of the server is full: no app-server can start until there is space for PROXY_STATE_DIR.',
    ]);
    control.fail = 0;
    await tick(1_000);
    expect(pool.ready).toBe(true);
  });
});

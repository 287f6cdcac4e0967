import { describe, expect, it, vi } from 'vitest';

import { never, setUpPool as setUp, tick, useFakeClock } from '../../../test/support/worker-pool.ts';

useFakeClock();

describe('replacement', () => {
  const MB = 1024 * 1024;

  /** A worker whose memory has grown too much, and the lease during which that was found. */
  const wearOut = async ({ pool, worker }: ReturnType<typeof setUp>) => {
    const lease = await pool.lease(never);
    await tick(10_000);
    worker(0).measured = { ...worker(0).measured, residentBytes: 101 * MB };
    (await pool.lease(never)).release();
    await tick();
    return lease;
  };

  it('starts the new worker first, and lets the old one finish its leases', async () => {
    const all = setUp();
    const { pool, control, worker, events } = all;
    await pool.start();
    control.hold = true;
    const old = await wearOut(all);
    const between = await pool.lease(never);
    const readyBetween = pool.ready;
    control.go();
    await tick();
    const fresh = await pool.lease(never);
    between.release();
    const during = pool.describe();
    old.release();
    await tick();
    expect({
      readyBetween,
      betweenOn: between.appServer === worker(0).appServer,
      freshOn: fresh.appServer === worker(1).appServer,
      during,
      after: pool.describe(),
      stops: [worker(0).stops, worker(1).stops],
      events,
    }).toEqual({
      readyBetween: true,
      betweenOn: true,
      freshOn: true,
      during: [
        { pid: 1, state: 'retiring', leases: 1 },
        { pid: 2, state: 'ready', leases: 1 },
      ],
      after: [{ pid: 2, state: 'ready', leases: 1 }],
      stops: [1, 0],
      events: [
        { kind: 'worker-ready', pid: 1 },
        { kind: 'worker-worn', pid: 1, wear: 'memory', ...worker(0).measured },
        { kind: 'worker-ready', pid: 2 },
        { kind: 'worker-stopped', pid: 1 },
      ],
    });
  });

  it('is decided after a release, by a check at most once a second', async () => {
    const { pool, worker, events } = setUp();
    await pool.start();
    const looked = vi.spyOn(worker(0), 'vitals');
    const useOnce = async (): Promise<void> => {
      (await pool.lease(never)).release();
      await tick();
    };
    await tick(10_000);
    await useOnce();
    await useOnce();
    worker(0).measured = { ...worker(0).measured, homeBytes: 101 * MB };
    await tick(999);
    await useOnce();
    const lookedBefore = looked.mock.calls.length;
    await tick(1);
    await useOnce();
    expect([lookedBefore, looked.mock.calls.length, events]).toEqual([
      1,
      2,
      [
        { kind: 'worker-ready', pid: 1 },
        { kind: 'worker-worn', pid: 1, wear: 'disk', ...worker(0).measured },
        { kind: 'worker-ready', pid: 2 },
        { kind: 'worker-stopped', pid: 1 },
      ],
    ]);
  });

  it('follows too many threads without a lease', async () => {
    const { pool, worker, events } = setUp();
    await pool.start();
    await tick(10_000);
    const lease = await pool.lease(never);
    worker(0).measured = { ...worker(0).measured, threads: 4 };
    (await pool.lease(never)).release();
    await tick(1_000);
    const before = events.length;
    worker(0).measured = { ...worker(0).measured, threads: 5 };
    (await pool.lease(never)).release();
    await tick();
    lease.release();
    await tick();
    expect([before, events.map((event) => ('wear' in event ? event.wear : event.kind))]).toEqual([
      1,
      ['worker-ready', 'threads', 'worker-ready', 'worker-stopped'],
    ]);
  });

  it('follows CPU use without any turn', async () => {
    const { pool, worker, events } = setUp();
    await pool.start();
    const burn = (cpuMs: number): void => {
      worker(0).measured = { ...worker(0).measured, cpuMs };
    };
    await tick(30_000);
    // It had work since, so the CPU time may be that of the turn.
    (await pool.lease(never)).release();
    burn(20_000);
    await tick(30_000);
    burn(35_000);
    await tick(30_000);
    const before = events.length;
    burn(50_001);
    await tick(30_000);
    expect([before, events.map((event) => ('wear' in event ? event.wear : event.kind))]).toEqual([
      1,
      ['worker-ready', 'cpu', 'worker-ready', 'worker-stopped'],
    ]);
  });

  it('is not decided if CPU time is unavailable', async () => {
    const { pool, worker, events } = setUp();
    await pool.start();
    worker(0).measured = { ...worker(0).measured, cpuMs: null };
    await tick(120_000);
    expect(events).toEqual([{ kind: 'worker-ready', pid: 1 }]);
  });

  it('is not decided by a check that fails or does not end', async () => {
    const { pool, worker, events } = setUp();
    await pool.start();
    const error = new Error('busy');
    const looked = vi.spyOn(worker(0), 'vitals').mockRejectedValueOnce(error);
    looked.mockReturnValue(new Promise(() => {}));
    (await pool.lease(never)).release();
    await tick(60_000);
    (await pool.lease(never)).release();
    await tick();
    expect([pool.ready, looked.mock.calls.length, events]).toEqual([
      true,
      2,
      [
        { kind: 'worker-ready', pid: 1 },
        { kind: 'diagnostics-failed', pid: 1, error },
      ],
    ]);
  });

  it('keeps the old worker if the new one does not start, and retries', async () => {
    const all = setUp();
    const { pool, control, worker, spawns } = all;
    await pool.start();
    control.fail = 2;
    const lease = await wearOut(all);
    await tick(500);
    const meanwhile = await pool.lease(never);
    expect([pool.ready, meanwhile.appServer === worker(0).appServer]).toEqual([true, true]);
    meanwhile.release();
    lease.release();
    await tick(1_000);
    expect([spawns, pool.describe()]).toEqual([
      [0, 10_000, 10_500, 11_500],
      [{ pid: 2, state: 'ready', leases: 0 }],
    ]);
  });

  it('is the restart if the old one dies meanwhile', async () => {
    const all = setUp();
    const { pool, control, worker, events, spawns } = all;
    await pool.start();
    control.hold = true;
    const lease = await wearOut(all);
    worker(0).die();
    lease.release();
    control.go();
    await tick();
    expect([pool.ready, spawns, events.slice(2)]).toEqual([
      true,
      [0, 10_000],
      [
        { kind: 'worker-lost', pid: 1, leases: 1, restartInMs: null },
        { kind: 'worker-stopped', pid: 1 },
        { kind: 'worker-ready', pid: 2 },
      ],
    ]);
  });
});

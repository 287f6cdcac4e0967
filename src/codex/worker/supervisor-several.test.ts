import { describe, expect, it } from 'vitest';

import { never, setUpPool, tick, useFakeClock } from '../../../test/support/worker-pool.ts';

useFakeClock();

const MB = 1024 * 1024;

const setUpThree = async () => {
  const all = setUpPool({ size: 3 });
  await all.pool.start();
  await tick();
  return all;
};

const leasesOf = (pool: { describe(): readonly { pid: number; leases: number }[] }) =>
  pool.describe().map(({ pid, leases }) => [pid, leases]);

describe('several workers', () => {
  it('start one after the other, and the first is enough to begin', async () => {
    const { pool, control, spawns } = setUpPool({ size: 3 });
    await pool.start();
    control.hold = true;
    const first = [pool.ready, spawns.length];
    await tick(1_000);
    control.hold = false;
    control.go();
    await tick();
    // The second was requested before the third was held back.
    expect([first, spawns, pool.describe().map(({ state }) => state)]).toEqual([
      [true, 2],
      [0, 0, 0],
      ['ready', 'ready', 'ready'],
    ]);
  });

  it('share the turns evenly', async () => {
    const { pool } = await setUpThree();
    const leases = await Promise.all(Array.from({ length: 7 }, () => pool.lease(never)));
    const spread = leasesOf(pool);
    leases[1]?.release();
    leases[4]?.release();
    await pool.lease(never);
    const next = leasesOf(pool);
    expect([spread, next]).toEqual([
      [
        [1, 3],
        [2, 2],
        [3, 2],
      ],
      [
        [1, 3],
        [2, 1],
        [3, 2],
      ],
    ]);
  });

  it('continue if one is lost: no lease waits, and another takes its place', async () => {
    const { pool, worker, events, spawns } = await setUpThree();
    const lease = await pool.lease(never);
    worker(0).die();
    lease.release();
    const next = await pool.lease(never);
    const during = [pool.ready, next.appServer === worker(1).appServer, leasesOf(pool)];
    await tick(500);
    expect([during, spawns, leasesOf(pool), events.slice(3)]).toEqual([
      [
        true,
        true,
        [
          [2, 1],
          [3, 0],
        ],
      ],
      [0, 0, 0, 500],
      [
        [2, 1],
        [3, 0],
        [4, 0],
      ],
      [
        { kind: 'worker-lost', pid: 1, leases: 1, restartInMs: 500 },
        { kind: 'worker-stopped', pid: 1 },
        { kind: 'worker-ready', pid: 4 },
      ],
    ]);
  });

  it('delay restarts of one that keeps dying early, while the others serve', async () => {
    const { pool, worker, workers, spawns } = setUpPool({ size: 2 });
    await pool.start();
    await tick(20_000);
    for (let death = 0; death < 5; death += 1) {
      workers.at(-1)?.die();
      const lease = await pool.lease(never);
      expect([pool.ready, lease.appServer === worker(0).appServer]).toEqual([true, true]);
      lease.release();
      await tick(2_000);
    }
    // At once after twenty good seconds; then after 0.5, 1 and 2 seconds.
    expect(spawns.slice(2)).toEqual([20_000, 22_500, 25_000, 28_000, 30_000]);
  });

  it('skip the delay of a failed start if the last of them is lost', async () => {
    const { pool, control, worker, spawns } = setUpPool({ size: 2 });
    await pool.start();
    await tick();
    control.fail = 6;
    await tick(20_000);
    worker(1).die();
    // 0.5 s, 1, 2, 4, 8, then a delay of sixteen seconds.
    await tick(16_000);
    const before = spawns.length;
    worker(0).die();
    await tick();
    expect([before, spawns.length, pool.describe().length]).toEqual([8, 10, 2]);
  });

  it('are replaced separately', async () => {
    const { pool, worker, events } = await setUpThree();
    await tick(10_000);
    const held = await Promise.all([1, 2, 3].map(() => pool.lease(never)));
    worker(1).measured = { ...worker(1).measured, residentBytes: 101 * MB };
    held[1]?.release();
    await tick();
    await tick();
    expect([leasesOf(pool), events.slice(3).map(({ kind }) => kind)]).toEqual([
      [
        [1, 1],
        [3, 1],
        [4, 0],
      ],
      ['worker-worn', 'worker-ready', 'worker-stopped'],
    ]);
  });

  it('are renewed one after the other, and the new ones take the next turns', async () => {
    const { pool, control, events } = await setUpThree();
    const old = await pool.lease(never);
    control.hold = true;
    pool.renew();
    pool.renew();
    await tick();
    const states: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      control.go();
      await tick();
      states.push(pool.describe().map(({ pid, state }) => `${pid} ${state}`));
    }
    const next = await pool.lease(never);
    expect([states, leasesOf(pool), events.filter(({ kind }) => kind === 'worker-worn').length]).toEqual([
      [
        ['1 retiring', '2 ready', '3 ready', '4 ready'],
        ['1 retiring', '3 ready', '4 ready', '5 ready'],
        ['1 retiring', '4 ready', '5 ready', '6 ready'],
      ],
      [
        [1, 1],
        [4, 1],
        [5, 0],
        [6, 0],
      ],
      3,
    ]);
    old.release();
    next.release();
  });

  it('avoid a silent one, and are ready while one answers', async () => {
    const { pool, worker } = await setUpThree();
    worker(0).hang();
    worker(1).hang();
    await tick(8_000);
    const leases = await Promise.all([1, 2, 3].map(() => pool.lease(never)));
    expect([pool.ready, leasesOf(pool)]).toEqual([
      true,
      [
        [1, 0],
        [2, 0],
        [3, 3],
      ],
    ]);
    for (const lease of leases) lease.release();
  });
});

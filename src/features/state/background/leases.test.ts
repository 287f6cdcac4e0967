import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Lease, ResponseRow, SeenLease } from '../store/port.ts';
import { Leases } from './leases.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The leases of a database. */
class Database {
  readonly leases = new Map<string, Lease>();
  isAway = false;

  async renew(lease: Lease, ids: readonly string[]): Promise<readonly string[]> {
    if (this.isAway) throw new Error('away');
    const own = ids.filter((id) => this.leases.get(id)?.instance === lease.instance);
    for (const id of own) this.leases.set(id, lease);
    return ids.filter((id) => !own.includes(id));
  }

  async leasesOf(): Promise<readonly SeenLease[]> {
    if (this.isAway) throw new Error('away');
    return [...this.leases].map(([id, lease]) => ({ id, ...lease }));
  }

  async take(lease: Lease, lost: readonly SeenLease[]): Promise<readonly ResponseRow[]> {
    const taken = lost.filter(({ id, beat, instance }) => {
      const now = this.leases.get(id);
      return now?.beat === beat && now.instance === instance;
    });
    for (const { id } of taken) this.leases.set(id, lease);
    return taken.map(({ id }) => ({ id }) as ResponseRow);
  }
}

const instanceOf = (database: Database, name: string, room = 100) => {
  const taken: string[] = [];
  const errors: unknown[] = [];
  const leases = new Leases({
    store: {
      renew: (lease, ids) => database.renew(lease, ids),
      leases: () => database.leasesOf(),
      take: (lease, lost) => database.take(lease, lost),
    },
    instance: name,
    room: () => room,
    onTaken: (rows) => taken.push(...rows.map(({ id }) => id)),
    onError: (error) => errors.push(error),
  });
  const gone: string[] = [];
  return {
    leases,
    taken,
    errors,
    gone,
    run(id: string) {
      database.leases.set(id, leases.current);
      leases.hold(id, () => gone.push(id));
    },
  };
};

const seconds = (count: number): Promise<unknown> => vi.advanceTimersByTimeAsync(count * 1_000);

describe('Leases', () => {
  it('keep the responses of an instance that is alive, for any time', async () => {
    const database = new Database();
    const [one, two] = [instanceOf(database, 'one'), instanceOf(database, 'two')];
    one.run('resp_1');
    one.leases.start();
    two.leases.start();
    await seconds(600);
    expect([one.gone, one.taken, two.taken]).toEqual([[], [], []]);
  });

  it('are lost if their instance does not renew them several times', async () => {
    const database = new Database();
    const [one, two] = [instanceOf(database, 'one'), instanceOf(database, 'two')];
    one.run('resp_1');
    one.leases.start();
    two.leases.start();
    await seconds(30);
    one.leases.stop();
    await seconds(8);
    expect(two.taken).toEqual([]);
    await seconds(4);
    expect(two.taken).toEqual(['resp_1']);
    // It was only suspended, and learns that it does not run the response any more.
    const again = instanceOf(database, 'one');
    again.leases.hold('resp_1', () => again.gone.push('resp_1'));
    again.leases.start();
    await seconds(0);
    expect(again.gone).toEqual(['resp_1']);
  });

  it('are not lost while the database is away, or when it comes back', async () => {
    const database = new Database();
    const [one, two] = [instanceOf(database, 'one'), instanceOf(database, 'two')];
    one.run('resp_1');
    one.leases.start();
    two.leases.start();
    await seconds(10);
    database.isAway = true;
    await seconds(300);
    database.isAway = false;
    await seconds(60);
    expect([one.gone, two.taken, one.errors.length > 0]).toEqual([[], [], true]);
  });

  it('do not depend on the clock', async () => {
    const database = new Database();
    const [one, two] = [instanceOf(database, 'one'), instanceOf(database, 'two')];
    one.run('resp_1');
    one.leases.start();
    two.leases.start();
    for (const jump of [3_600_000, -7_200_000, 86_400_000]) {
      vi.setSystemTime(Date.now() + jump);
      await seconds(20);
    }
    expect([one.gone, two.taken]).toEqual([[], []]);
  });

  it('of this instance are lost too, if it dropped them before they ended', async () => {
    const database = new Database();
    const one = instanceOf(database, 'one');
    one.run('resp_1');
    one.run('resp_2');
    one.leases.start();
    one.leases.drop('resp_1');
    await seconds(12);
    expect(one.taken).toEqual(['resp_1']);
  });

  it('are taken as far as there is room, and by one instance', async () => {
    const database = new Database();
    for (const id of ['resp_1', 'resp_2', 'resp_3']) database.leases.set(id, { instance: 'dead', beat: 4 });
    const [one, two] = [instanceOf(database, 'one', 1), instanceOf(database, 'two', 1)];
    one.leases.start();
    two.leases.start();
    await seconds(9);
    expect([one.taken, two.taken]).toEqual([['resp_1'], ['resp_2']]);
    const three = instanceOf(database, 'three');
    three.leases.start();
    three.leases.stopTaking();
    await seconds(60);
    expect(three.taken).toEqual([]);
  });
});

import type { Pool } from 'pg';
import { expect, it } from 'vitest';

import { Slots } from '../../kit/async/limiter.ts';
import { transact } from './transactions.ts';

const fakePool = () => {
  const client = { query: async () => ({ rows: [], rowCount: 0 }), release: () => (released += 1) };
  let released = 0;
  const connecting = Promise.withResolvers<void>();
  const pool = {
    async connect() {
      await connecting.promise;
      return client;
    },
  };
  return { pool: pool as unknown as Pool, connected: connecting.resolve, released: () => released };
};

it('keys take turns for the connections', async () => {
  const { pool, connected } = fakePool();
  const slots = new Slots(1);
  const order: string[] = [];
  const all = ['a1', 'a2', 'a3', 'b1'].map((name) =>
    transact(
      pool,
      { slots, key: name.slice(0, 1), timeoutMs: 60_000 },
      { kind: 'read', run: async () => order.push(name) },
    ),
  );
  expect(slots.waiting).toBe(4);
  connected();
  await Promise.all(all);
  expect([order, slots.waiting]).toEqual([['a1', 'a2', 'b1', 'a3'], 0]);
});

it('gives back a connection that comes too late', async () => {
  const { pool, connected, released } = fakePool();
  const turns = { slots: new Slots(1), key: 'a', timeoutMs: 1 };
  await expect(transact(pool, turns, { kind: 'read', run: async () => 1 })).rejects.toThrow('database');
  connected();
  await expect.poll(released).toBe(1);
});

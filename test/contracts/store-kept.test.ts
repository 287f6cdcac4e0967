import { describe, expect, it } from 'vitest';

import { STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { migrate } from '../../src/store/migrations/migrate.ts';
import { kyselyOn } from '../../src/store/connection-dialect.ts';
import {
  commit,
  DAY,
  describeStores,
  openDatabase,
  responseOf,
  turnOf,
  type StoreHarness,
} from '../support/store-harness.ts';

const COLUMNS = {
  segments: ['cache_key', 'body'],
  turns: ['body'],
  responses: ['body'],
  run_events: ['body'],
  chat_completions: ['metadata', 'body', 'messages'],
};

/** Counted from the rows themselves. */
const countedBytes = async (sql: StoreHarness['sql'], owner: string): Promise<number> => {
  let sum = 0;
  for (const [table, columns] of Object.entries(COLUMNS)) {
    const sizes = columns.map((column) => `coalesce(octet_length(${column}), 0)`).join(' + ');
    const rows = await sql(`select ${sizes} as bytes from ${table} where owner = '${owner}'`);
    for (const { bytes } of rows) sum += Number(bytes) + 500;
  }
  return sum;
};

const chatOf = (harness: StoreHarness, id: string, owner: string) => ({
  id,
  owner,
  model: 'm',
  createdAt: harness.clock.time,
  expiresAt: harness.clock.time + DAY,
  metadata: { a: 'b' },
  body: 'ü'.repeat(1_000),
  messages: '[]',
});

/** Writes one of everything that can be kept for a key. */
const fill = async (harness: StoreHarness, owner: string) => {
  const { store, clock, newId } = harness;
  const expiresAt = clock.time + DAY;
  const first = await commit(harness, null, owner);
  const second = await commit(harness, first.at, owner);
  // A fork, and a segment that is needed by it.
  await commit(harness, first.at, owner);
  const conversation = newId('conv');
  const row = { id: conversation, owner, createdAt: clock.time, expiresAt, body: '{}', cacheKey: 'c' };
  await store.conversations.create({ ...row, turn: turnOf(newId('key'), { body: 'x'.repeat(5_000) }) });
  await store.conversations.update(owner, conversation, { body: '{"more":1}', expiresAt });
  const background = newId('resp');
  const queued = responseOf(harness, background, { status: 'queued', isBackground: true });
  await store.responses.add({ ...queued, owner }, { instance: 'i', beat: 1 });
  await store.responses.change(owner, background, { status: 'in_progress', body: 'y'.repeat(300) });
  await store.events.append(owner, background, { first: 0, last: 0, body: 'z'.repeat(700) }, expiresAt);
  await store.events.append(owner, background, { first: 0, last: 0, body: 'z'.repeat(700) }, expiresAt);
  const chat = newId('chat');
  await store.chats.add(chatOf(harness, chat, owner));
  await store.chats.update(owner, chat, { metadata: { c: 'dd' }, body: '{}' });
  return { first, second, conversation, background, chat };
};

describeStores('the bytes of a key', (open) => {
  it('are counted with every write, change and deletion', async () => {
    const harness = open();
    const { store } = harness;
    const owner = harness.newId('owner');
    const other = harness.newId('owner');
    const check = async (): Promise<number> => {
      const bytes = await store.kept.bytes(owner);
      expect(bytes).toBe(await countedBytes(harness.sql, owner));
      return bytes;
    };
    expect(await check()).toBe(0);
    const { first, second, conversation, background, chat } = await fill(harness, owner);
    const full = await check();
    expect(full).toBeGreaterThan(5_000 + 300 + 700);
    await fill(harness, other);
    expect(await check()).toBe(full);
    const [row] = await store.turns.upTo(owner, { segment: conversation, pos: 0 });
    await store.turns.rewrite(owner, row!, 'short');
    expect(await check()).toBeLessThan(full - 4_000);
    for (const id of [background, second.responseId, first.responseId]) {
      await store.responses.delete(owner, id);
      await check();
    }
    await store.conversations.delete(owner, conversation);
    await check();
    await store.chats.delete(owner, chat);
    expect(await check()).toBeLessThan(full / 2);
    expect(await store.kept.bytes(other)).toBe(await countedBytes(harness.sql, other));
  });

  it('are given back when rows expire', async () => {
    const harness = open();
    const owner = harness.newId('owner');
    await fill(harness, owner);
    harness.clock.time += 2 * DAY;
    while ((await harness.store.sweep(3)) > 0);
    expect(await harness.store.kept.bytes(owner)).toBe(0);
  });

  it('are counted right with two instances that write and delete at the same time', async () => {
    const harness = open();
    const another = await harness.openAnother();
    const owner = harness.newId('owner');
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const { second, chat } = await fill(
          index % 2 === 0 ? harness : { ...harness, store: another },
          owner,
        );
        const { store } = index % 2 === 0 ? { store: another } : harness;
        await store.responses.delete(owner, second.responseId);
        await store.chats.delete(owner, chat);
      }),
    );
    const bytes = await harness.store.kept.bytes(owner);
    expect(bytes).toBe(await countedBytes(harness.sql, owner));
    expect(await another.kept.bytes(owner)).toBe(bytes);
  });

  it('are not counted for a write that was not made', async () => {
    const harness = open();
    const owner = harness.newId('owner');
    const chat = chatOf(harness, harness.newId('chat'), owner);
    await harness.store.chats.add(chat);
    const bytes = await harness.store.kept.bytes(owner);
    expect(await harness.store.chats.add(chat).catch(() => 'rejected')).toBe('rejected');
    expect(await harness.store.kept.bytes(owner)).toBe(bytes);
  });
});

describe.each(['sqlite', 'postgres'] as const)('a database of an earlier version in %s', (kind) => {
  it('is counted when it is migrated', async () => {
    const database = await openDatabase(kind);
    const db = kyselyOn(kind, database.query);
    await migrate(db, kind, 1, STORE_SCHEMA.migrations.slice(0, 6));
    const segment = "'s', 'alice', 'chain', null, null, 0, null, null, 'j12345678k', 1, 1, 1, null, null";
    await database.sql(`insert into segments values (${segment})`);
    await database.sql("insert into turns values ('s', 0, 'k', 'alice', null, 9, 'j12345678ü')");
    await database.sql("insert into run_events values ('r', 0, 0, 1, 9, 'j12345678x')");
    await migrate(db, kind, 2, STORE_SCHEMA.migrations);
    const rows = await database.sql("select sum(bytes) as bytes from kept_bytes where owner = 'alice'");
    expect(Number(rows[0]?.['bytes'])).toBe(500 + 10 + 500 + 11);
    await database.sql('delete from run_events');
    await database.sql('delete from segments');
    const after = await database.sql('select sum(bytes) as bytes from kept_bytes');
    expect(Number(after[0]?.['bytes'])).toBe(0);
    await database.close();
  });
});

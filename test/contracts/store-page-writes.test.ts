import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { openStore, STORE_SCHEMA } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { MemoryKind } from '../../src/store/store.ts';
import type { StateStore } from '../../src/features/state/store/port.ts';

/** What a stored answer costs with SQLite is its pages, and the transactions that wait for the disk. */

const directory = mkdtempSync(path.join(tmpdir(), 'page-writes-'));
const file = path.join(directory, 'state.db');
const LATER = 100_000;

let store: StateStore;
beforeAll(async () => {
  const options = { databaseUrl: null, file, keys: [], timeoutMs: 30_000, clock: { now: () => 1_000 } };
  store = stateStoreOf(await openStore(options));
  for (let count = 0; count < 5; count += 1) await answer();
});
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** The pages and transactions in the log of the file. It begins anew after a thousand pages: there are fewer here. */
const written = (): { readonly pages: number; readonly transactions: number } => {
  const log = readFileSync(`${file}-wal`);
  const frameBytes = log.readUInt32BE(8) + FRAME_HEADER_BYTES;
  const salts = log.subarray(16, 24);
  let [pages, transactions] = [0, 0];
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (!log.subarray(at + 8, at + 16).equals(salts)) break;
    pages += 1;
    // Only the last page of a transaction has the size of the file.
    if (log.readUInt32BE(at + 4) > 0) transactions += 1;
  }
  return { pages, transactions };
};

const newlyWritten = async (work: () => Promise<unknown>): Promise<ReturnType<typeof written>> => {
  const before = written();
  await work();
  const after = written();
  return { pages: after.pages - before.pages, transactions: after.transactions - before.transactions };
};

let made = 0;

/** An answer with reasoning and a message, about as long as most. */
const answer = (): Promise<unknown> => {
  made += 1;
  const key = String(made).padStart(32, '0');
  return store.turns.commit({
    owner: 'alice',
    onto: { kind: 'new', segment: `seg_${key}`, cacheKey: `cache ${key}` },
    turn: { key, body: JSON.stringify('x'.repeat(2_300)), itemIds: [`rs_${key}`, `msg_${key}`] },
    response: {
      id: `resp_${key}`,
      status: 'completed',
      isBackground: false,
      createdAt: 1_000,
      expiresAt: LATER,
      body: JSON.stringify('y'.repeat(2_000)),
    },
    expiresAt: LATER,
  });
};

const copyOf = (responseId: string) => ({
  owner: 'alice',
  responseId,
  count: 20,
  body: 'z'.repeat(4_600),
  expiresAt: LATER,
});

it('a stored answer and the copy of its stream write few pages', async () => {
  const { pages, transactions } = await newlyWritten(async () => {
    await answer();
    await store.events.copy([copyOf('resp_copied')]);
  });
  expect(transactions).toBe(2);
  expect(pages).toBeLessThan(30);
});

it('answers that end at the same time share a transaction', async () => {
  const { pages, transactions } = await newlyWritten(() =>
    Promise.all(Array.from({ length: 20 }, () => answer())),
  );
  // The first ones may begin before the others are there.
  expect(transactions).toBeLessThan(5);
  expect(pages).toBeLessThan(20 * 10);
});

it('only what docs/database.md names does not wait for the disk', () => {
  const relaxedWith = (...args: readonly unknown[]): readonly string[] =>
    [...STORE_SCHEMA.operations]
      .filter(([, operation]) => operation.isRelaxed?.(...args) === true)
      .map(([name]) => name)
      .toSorted();
  const limitsAndCopies = ['events.copy', 'limits.giveBack', 'limits.reserve', 'limits.settle'];
  for (const kind of ['cache-id', 'reasoning', 'console-session'] satisfies MemoryKind[]) {
    expect(relaxedWith(kind)).toEqual([...limitsAndCopies, 'memory.claim', 'memory.put']);
  }
  // The ids of keys, by which their clients and operators know them, are made with it.
  expect(relaxedWith('signature-key' satisfies MemoryKind)).toEqual(limitsAndCopies);
});

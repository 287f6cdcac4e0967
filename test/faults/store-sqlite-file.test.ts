import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Worker } from 'node:worker_threads';

import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openStore } from '../../src/compose/open-store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import type { StoreChange, StoreOptions } from '../../src/store/store-options.ts';
import type { Store } from '../../src/store/store.ts';
import { mountDisk } from '../chaos/faults.ts';

let directory: string;
let stores: Store[] = [];
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'store-file-'));
});
afterEach(async () => {
  for (const store of stores) await store.close();
  stores = [];
  await rm(directory, { recursive: true, force: true });
});

const open = async (different: Partial<StoreOptions> = {}): Promise<Store> => {
  const store = await openStore({
    databaseUrl: null,
    file: path.join(directory, 'state.db'),
    keys: [],
    timeoutMs: 20_000,
    clock: { now: () => 1_000 },
    ...different,
  });
  stores.push(store);
  return store;
};

const put = (store: Store, key: string, chars = 10): Promise<void> =>
  store.memory.put('reasoning', key, 'x'.repeat(chars), 2_000);

const keysIn = async (store: Store, keys: readonly string[]): Promise<readonly string[]> =>
  [...(await store.memory.get('reasoning', keys)).keys()].toSorted(
    (one, other) => keys.indexOf(one) - keys.indexOf(other),
  );

const unavailable = (reason: string) => ({
  failure: {
    kind: 'store_unavailable',
    status: 503,
    message: `The database of this server is unavailable: ${reason}.`,
  },
});

describe('the file', () => {
  it('is for its owner alone', async () => {
    const store = await open();
    await put(store, 'a');
    for (const name of ['state.db', 'state.db-wal', 'state.db-shm']) {
      expect([name, statSync(path.join(directory, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });

  it('that another process has locked is unavailable until it is free', async () => {
    const store = await open({ timeoutMs: 300 });
    await put(store, 'a');
    const other = new DatabaseSync(path.join(directory, 'state.db'));
    other.exec('begin immediate');
    await expect(put(store, 'b')).rejects.toMatchObject({ failure: { kind: 'store_unavailable' } });
    other.exec('rollback');
    other.close();
    await expect
      .poll(() =>
        put(store, 'c').then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await keysIn(store, ['a', 'c'])).toEqual(['a', 'c']);
  });

  it('that another process has locked is read in the meantime, however many writes wait', async () => {
    const store = await open({ timeoutMs: 1_000 });
    await put(store, 'a');
    const other = new DatabaseSync(path.join(directory, 'state.db'));
    other.exec('begin immediate');
    const writes = await Promise.allSettled(['b', 'c', 'd', 'e'].map((key) => put(store, key)));
    expect(writes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
    expect(await keysIn(store, ['a', 'b'])).toEqual(['a']);
    other.close();
  });

  it('that is not a database, or cannot be made, is refused', async () => {
    writeFileSync(path.join(directory, 'state.db'), 'something else '.repeat(100));
    await expect(open()).rejects.toThrow('file is not a database');
    await expect(open({ file: path.join(directory, 'no/such/folder.db') })).rejects.toThrow('ENOENT');
    await mkdir(path.join(directory, 'folder.db'));
    await expect(open({ file: path.join(directory, 'folder.db') })).rejects.toThrow('EISDIR');
  });

  it('with a damaged page gives a clear error, and the rest of it is read', async () => {
    const store = await open();
    for (let key = 0; key < 200; key += 1) await put(store, `key${key}`, 3_000);
    await store.close();
    const file = path.join(directory, 'state.db');
    // A page of bodies: the text of one of them is in it.
    const at = readFileSync(file).lastIndexOf('x'.repeat(2_000));
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Buffer.alloc(4_096, 0xff), 0, 4_096, Math.floor(at / 4_096) * 4_096);
    closeSync(descriptor);
    const again = await open();
    const kinds = new Set<string>();
    for (let key = 0; key < 200; key += 1) {
      const found = await again.memory.get('reasoning', [`key${key}`]).then(
        (values) => (values.size === 1 ? 'read' : 'missing'),
        (error: { readonly failure: { readonly kind: string; readonly status: number } }) =>
          `${error.failure.kind} ${error.failure.status}`,
      );
      kinds.add(found);
    }
    expect(kinds).toEqual(new Set(['read', 'store_corrupt 500']));
  });
});

describe('the thread', () => {
  /** The threads that are started meanwhile. */
  const threads: Worker[] = [];
  const note = (worker: Worker): void => void threads.push(worker);
  beforeEach(() => void process.on('worker', note));
  afterEach(() => {
    process.off('worker', note);
    threads.length = 0;
  });

  it('is started again after it ended', async () => {
    const changes: StoreChange[] = [];
    const woken: string[] = [];
    const store = await open({ onChange: (change) => void changes.push(change) });
    store.watch((id) => void woken.push(id));
    await put(store, 'a');
    const pending = put(store, 'b').catch((error: unknown) => error);
    await threads[0]!.terminate();
    const answer = await pending;
    if (answer !== undefined) {
      expect(answer).toMatchObject(unavailable('its thread ended (it ended by itself)'));
    }
    // What is asked meanwhile waits for the next thread.
    await put(store, 'c');
    expect(await keysIn(store, ['a', 'c'])).toEqual(['a', 'c']);
    expect(changes).toEqual([{ kind: 'lost', reason: 'it ended by itself' }, { kind: 'back' }]);
    expect(woken).toContain('*');
  });

  it('that cannot open the file again is tried again, and requests fail in time', async () => {
    const store = await open({ timeoutMs: 500 });
    await put(store, 'a');
    const file = path.join(directory, 'state.db');
    // The store may be at the end of a write.
    const other = new DatabaseSync(file, { timeout: 10_000 });
    other.exec('pragma wal_checkpoint(truncate)');
    other.exec('insert into schema_version values (99, 0)');
    await threads[0]!.terminate();
    await expect(put(store, 'b')).rejects.toMatchObject(unavailable('it did not answer within 500 ms'));
    other.exec('delete from schema_version where version = 99');
    other.close();
    await expect
      .poll(
        () =>
          put(store, 'c').then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
  });

  it('that is busy gets no more than a limit', async () => {
    const store = await open({ timeoutMs: 1_000 });
    const other = new DatabaseSync(path.join(directory, 'state.db'));
    other.exec('begin immediate');
    const waiting = Array.from({ length: 10_050 }, (_, key) =>
      put(store, `key${key}`).catch((error: unknown) => error),
    );
    const last = await waiting.at(-1);
    expect(last).toMatchObject(unavailable('too many operations wait for it'));
    const all = await Promise.all(waiting);
    expect(all.filter((answer) => answer === undefined)).toEqual([]);
    other.exec('rollback');
    other.close();
    await expect
      .poll(
        () =>
          put(store, 'c').then(
            () => true,
            () => false,
          ),
        { timeout: 20_000 },
      )
      .toBe(true);
  });

  it('writes the others of a group when one fails', async () => {
    const store = await open();
    const batch = { first: 0, last: 0, body: 'one' };
    const { events } = stateStoreOf(store);
    await events.append('alice', 'resp', batch, 2_000);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        index % 2 === 0
          ? put(store, `key${index}`)
          : events.append('alice', 'resp', { ...batch, body: 'other' }, 2_000).catch(() => 'rejected'),
      ),
    );
    expect(answers).toEqual(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? undefined : 'rejected')),
    );
    const keys = Array.from({ length: 10 }, (_, index) => `key${index * 2}`);
    expect(new Set(await keysIn(store, keys))).toEqual(new Set(keys));
  });

  it('ends the operations that run when the store is closed, and takes no others', async () => {
    const store = await open();
    const running = Array.from({ length: 50 }, (_, key) => put(store, `key${key}`));
    await store.close();
    expect(await Promise.all(running)).toHaveLength(50);
    await expect(put(store, 'late')).rejects.toMatchObject(unavailable('it is closed'));
    const again = await open();
    expect(
      await keysIn(
        again,
        running.map((_, key) => `key${key}`),
      ),
    ).toHaveLength(50);
  });
});

const disk = await mkdtemp(path.join(tmpdir(), 'store-disk-'));
const mounted = mountDisk(disk);
afterAll(async () => {
  mounted?.unmount();
  await rm(disk, { recursive: true, force: true });
});

describe.skipIf(mounted === null)('a small disk', { meta: { needs: 'root and `mount`' } }, () => {
  it('that is full loses nothing that was stored, and small writes go on where they can', async () => {
    const store = await open({ file: path.join(disk, 'full.db') });
    await put(store, 'before', 100_000);
    const { bavail, bsize } = await statfs(disk);
    await writeFile(path.join(disk, 'filler'), Buffer.alloc(bavail * bsize - 400_000));
    const [large, small] = await Promise.all([
      put(store, 'large', 3_000_000).catch((error: unknown) => error),
      put(store, 'small').catch((error: unknown) => error),
    ]);
    expect(large).toMatchObject(unavailable('the disk is full'));
    expect(small).toBe(undefined);
    expect(await keysIn(store, ['before', 'large', 'small'])).toEqual(['before', 'small']);
    await rm(path.join(disk, 'filler'));
    await put(store, 'large', 3_000_000);
    expect(await keysIn(store, ['large'])).toEqual(['large']);
    await store.close();
    stores = [];
  });

  it('that is read-only is refused at the start, and used again later', async () => {
    const store = await open({ file: path.join(disk, 'read-only.db') });
    await put(store, 'before');
    // Nothing on it may be open for writing.
    await store.close();
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    await expect(open({ file: path.join(disk, 'read-only.db') })).rejects.toThrow('EROFS');
    execFileSync('mount', ['-o', 'remount,rw', disk]);
    const again = await open({ file: path.join(disk, 'read-only.db') });
    expect(await keysIn(again, ['before'])).toEqual(['before']);
    await again.close();
    stores = [];
  });
});

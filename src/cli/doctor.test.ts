import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, afterEach, expect, it } from 'vitest';

import { STORE_SCHEMA, openConfiguredStore } from '../compose/open-store.ts';
import { loadConfig } from '../compose/features.ts';
import { openAdmin } from '../store/admin/open-admin.ts';
import { storeCheck } from './doctor.ts';

describe('storeCheck', () => {
  const folders: string[] = [];
  const configIn = async (settings: Record<string, string> = {}) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'store-check-'));
    folders.push(dir);
    return loadConfig({ PROXY_STATE_DIR: dir, ...settings });
  };
  afterEach(async () => {
    await Promise.all(folders.splice(0).map((dir) => rm(dir, { recursive: true })));
  });

  const check = (config: Parameters<typeof storeCheck>[0]) =>
    storeCheck(config).run(new AbortController().signal);

  it('does not create a store', async () => {
    const config = await configIn();
    expect(await check(config)).toMatchObject({
      grade: 'ok',
      says: `${config.state.dir}/state.db, kept for 30 days; made at the first start`,
    });
  });

  it('opens a store', async () => {
    const config = await configIn();
    await (await openConfiguredStore(config)).close();
    expect(await check(config)).toMatchObject({ grade: 'ok', facts: { kind: 'sqlite' } });
  });

  it('reports a store that was encrypted with another key, and warns about rows whose key is not there', async () => {
    const config = await configIn();
    const { dir } = config.state;
    const keys = [Buffer.alloc(32, 1).toString('hex')];
    const store = await openConfiguredStore({ ...config, state: { ...config.state, keys } });
    await store.memory.put('reasoning', 'one', 'secret', Date.now() + 1_000_000);
    await store.close();
    expect(await check(config)).toMatchObject({
      grade: 'problem',
      says: expect.stringContaining('encrypted with a key that is not in PROXY_STORE_KEY'),
    });
    const options = {
      databaseUrl: null,
      file: path.join(dir, 'state.db'),
      clock: { now: () => 0 },
      schema: STORE_SCHEMA,
    };
    const accept = async (current: readonly string[]): Promise<void> => {
      const admin = await openAdmin({ ...options, keys: current });
      await admin?.acceptKey();
      await admin?.close();
    };
    await accept([]);
    expect(await check(config)).toEqual({
      grade: 'warning',
      says: `${config.state.dir}/state.db, kept for 30 days; 1 row cannot be read: its key is not in PROXY_STORE_KEY`,
      advice:
        'set PROXY_STORE_KEY to the keys of before, the current one first; `db status` counts the rows of each key',
      facts: {},
    });
    expect(await check({ ...config, state: { ...config.state, keys } })).toMatchObject({ grade: 'ok' });
  });

  it('reports a file that is not a database', async () => {
    const config = await configIn();
    await writeFile(path.join(config.state.dir, 'state.db'), 'not a database '.repeat(1000));
    expect(await check(config)).toMatchObject({
      grade: 'problem',
      says: expect.stringContaining('file is not a database'),
    });
  });

  it('warns if nothing is stored', async () => {
    expect(await check(await configIn({ PROXY_STORE: 'off' }))).toMatchObject({ grade: 'warning' });
  });
});

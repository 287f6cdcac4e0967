import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, afterEach, describe, vi } from 'vitest';

import { gatewayError } from '../canonical/failure/failure.ts';
import { createLogger } from '../observe/log.ts';
import type { Store } from '../store/store.ts';
import { loadConfig } from './features.ts';
import { describeStore, openSignatures } from './open-store.ts';

const described = (environment: Record<string, string>): string =>
  describeStore(loadConfig({ PROXY_STATE_DIR: '/state', ...environment }).state);

it.each([
  [{}, '/state/state.db, kept for 30 days'],
  [{ PROXY_STORE_TTL_DAYS: '1' }, '/state/state.db, kept for 1 day'],
  [{ PROXY_STORE_KEY: 'ab'.repeat(32) }, '/state/state.db, kept for 30 days, encrypted'],
  [
    { PROXY_DATABASE_URL: 'postgres://user:secret@db.local:5432/proxy' },
    'PostgreSQL at db.local:5432/proxy, kept for 30 days',
  ],
  [{ PROXY_STORE: 'off' }, 'off: nothing is kept between requests (PROXY_STORE=off)'],
])('describes the store of %j', (environment, text) => {
  expect(described(environment)).toBe(text);
});

const silent = createLogger({ level: 'silent', secrets: [], destination: { write: () => true } });

const dirs: string[] = [];
const newDir = async (): Promise<string> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'signatures-'));
  dirs.push(dir);
  return dir;
};

const openIn = (dir: string, store: Store | null, more: Record<string, string> = {}) =>
  openSignatures(store, loadConfig({ PROXY_STATE_DIR: dir, ...more }), silent);

/** A store with one value. */
const keeping = (): { store: Store; isDown: boolean } => {
  let kept: string | null = null;
  const state = { store: {} as Store, isDown: false };
  const orFail = (): void => {
    if (state.isDown) throw gatewayError('store_unavailable');
  };
  state.store = {
    memory: {
      async claim(_kind: string, _key: string, value: string) {
        orFail();
        return (kept ??= value);
      },
      async put(_kind: string, _key: string, value: string) {
        orFail();
        kept = value;
      },
    },
  } as unknown as Store;
  return state;
};

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(dirs.splice(0).map((dir) => rm(dir, { recursive: true, force: true })));
});

describe('the key for signatures', () => {
  it('is kept in a file that only its owner can read', async () => {
    const dir = await newDir();
    const first = await openIn(dir, null);
    const again = await openIn(dir, null);
    expect(again.signer.open(first.signer.sign('x'))).toBe('x');
    expect(again.keyIds.of('k')).toBe(first.keyIds.of('k'));
    expect((await stat(path.join(dir, 'signature-key'))).mode & 0o777).toBe(0o600);
    const another = await openIn(await newDir(), null);
    expect(another.signer.open(first.signer.sign('x'))).toBe(null);
    expect(another.keyIds.of('k')).not.toBe(first.keyIds.of('k'));
  });

  it('is one for all instances of a store', async () => {
    const { store } = keeping();
    const [one, other] = await Promise.all([openIn(await newDir(), store), openIn(await newDir(), store)]);
    expect(one.signer.open(other.signer.sign('x'))).toBe('x');
    expect(other.signer.open(one.signer.sign('y'))).toBe('y');
    expect(other.keyIds.of('k')).toBe(one.keyIds.of('k'));
  });

  it('is that of the installation while the store fails', async () => {
    vi.useFakeTimers();
    const state = keeping();
    const one = await openIn(await newDir(), state.store);
    state.isDown = true;
    const other = await openIn(await newDir(), state.store);
    const early = other.signer.sign('early');
    const earlyId = other.keyIds.of('k');
    expect([one.signer.open(early), other.signer.open(early)]).toEqual([null, 'early']);
    state.isDown = false;
    await vi.advanceTimersByTimeAsync(30_000);
    expect(one.signer.open(other.signer.sign('late'))).toBe('late');
    expect(other.signer.open(early)).toBe('early');
    expect(other.keyIds.of('k')).toBe(one.keyIds.of('k'));
    expect(other.keyIds.ownerOf(earlyId)).toBe(one.keyIds.ownerOf(one.keyIds.of('k')));
    other.close();
  });

  it('is not asked for any more after the end', async () => {
    vi.useFakeTimers();
    const state = keeping();
    state.isDown = true;
    const { close } = await openIn(await newDir(), state.store);
    expect(vi.getTimerCount()).toBe(1);
    close();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is new at every start without a folder to write to', async () => {
    const dir = path.join(await newDir(), 'file');
    await writeFile(dir, '');
    const { signer } = await openIn(dir, null);
    expect(signer.open(signer.sign('x'))).toBe('x');
  });

  it('is not a text that a client could guess', async () => {
    const dir = await newDir();
    await writeFile(path.join(dir, 'signature-key'), 'x\n');
    const [one, other] = [await openIn(dir, null), await openIn(dir, null)];
    expect(one.signer.open(one.signer.sign('x'))).toBe('x');
    expect(other.signer.open(one.signer.sign('x'))).toBe(null);
  });

  it('is the configured one', async () => {
    const { store } = keeping();
    const key = '0b'.repeat(32);
    const one = await openIn(await newDir(), store, { PROXY_SIGNATURE_KEY: key });
    const other = await openIn(await newDir(), null, { PROXY_SIGNATURE_KEY: `${'0a'.repeat(32)},${key}` });
    expect(other.signer.open(one.signer.sign('x'))).toBe('x');
    expect(one.signer.open(other.signer.sign('x'))).toBe(null);
    const id = one.keyIds.of('k');
    expect([other.keyIds.of('k') === id, other.keyIds.ownerOf(id) === id]).toEqual([false, false]);
  });
});

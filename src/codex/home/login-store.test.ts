import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { systemAmbient } from '../../kit/ambient.ts';
import { tokensIn } from './login-file.ts';
import { LoginStore } from './login-store.ts';

const { clock } = systemAmbient;

let dir = '';
let file = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'login-store-'));
  file = path.join(dir, 'auth.json');
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const login = (serial: string, account = 'acc'): string =>
  JSON.stringify({
    auth_mode: 'chatgpt',
    tokens: {
      id_token: `i-${serial}`,
      access_token: `a-${serial}`,
      refresh_token: serial,
      account_id: account,
    },
    last_refresh: '2026-11-15T00:00:00Z',
    other: 'kept',
  });
const answer = (serial: string): string =>
  JSON.stringify({
    id_token: `i-${serial}`,
    access_token: `a-${serial}`,
    refresh_token: serial,
    expires_in: 1,
  });

const refreshIn = async (at: string): Promise<string | null> =>
  tokensIn(await readFile(at, 'utf8'))?.refreshToken ?? null;
const home = async (name: string): Promise<string> => {
  const made = path.join(dir, name);
  await mkdir(made);
  return made;
};
const copyIn = (directory: string): string => path.join(directory, 'auth.json');
const stored = async (serial: string, homes: readonly string[] = []) => {
  await writeFile(file, login(serial));
  const store = new LoginStore({ clock, file });
  for (const one of homes) await store.copyInto(one);
  return store;
};

describe('a renewal through the relay', () => {
  it('replaces the tokens in the file and in every home, and nothing else', async () => {
    const homes = [await home('one'), await home('two')];
    const store = await stored('r1', homes);
    const revision = store.revisionOf(await readFile(file, 'utf8'));
    const { ino } = await lstat(file);
    await store.renewed('r1', answer('r2'));
    const text = await readFile(file, 'utf8');
    expect(JSON.parse(text)).toEqual({
      ...(JSON.parse(login('r2')) as object),
      last_refresh: expect.any(String),
    });
    expect([(await lstat(file)).ino === ino, (await lstat(file)).mode & 0o777]).toEqual([false, 0o600]);
    expect(await Promise.all(homes.map((one) => refreshIn(copyIn(one))))).toEqual(['r2', 'r2']);
    // No app-server has to be restarted for it.
    expect(store.revisionOf(text)).toBe(revision);
    expect((await readdir(dir)).toSorted()).toEqual(['auth.json', 'one', 'two']);
  });

  it.each([
    ['a sign-in', login('fresh'), 'fresh'],
    ['a sign-in with another account', login('fresh', 'another'), 'fresh'],
    ['a sign-out', null, null],
  ])('does not undo %s that happened meanwhile', async (_, then, expected) => {
    const one = await home('one');
    const store = await stored('r1', [one]);
    await (then === null ? rm(file) : writeFile(file, then));
    await store.renewed('r1', answer('r2'));
    await writeFile(copyIn(one), login('r2'));
    await store.collect();
    await store.release(one);
    expect(then === null ? await readdir(dir) : await refreshIn(file)).toEqual(
      then === null ? ['one'] : expected,
    );
  });

  it('keeps a link, and keeps the tokens in memory if nothing can be written', async () => {
    const real = path.join(await home('dotfiles'), 'codex.json');
    await writeFile(real, login('r1'));
    await symlink(real, file);
    const troubles: unknown[] = [];
    const store = new LoginStore({ clock, file, onUnsaved: (error) => troubles.push(error) });
    await store.renewed('r1', answer('r2'));
    expect([(await lstat(file)).isSymbolicLink(), await refreshIn(real), troubles]).toEqual([true, 'r2', []]);
    // A name that is too long for the temporary file, and a folder that prevents writing in place.
    const unwritable = path.join(dir, 'x'.repeat(250));
    await writeFile(unwritable, login('r1'));
    const stuck = new LoginStore({ clock, file: unwritable, onUnsaved: (error) => troubles.push(error) });
    await stuck.renewed('r1', answer('r2'));
    await stuck.renewed('r2', answer('r3'));
    const one = await home('one');
    await stuck.copyInto(one);
    expect([await refreshIn(unwritable), await refreshIn(copyIn(one)), troubles.length]).toEqual([
      'r1',
      'r3',
      2,
    ]);
    // A new sign-in wins.
    await writeFile(unwritable, login('fresh'));
    expect(tokensIn((await stuck.read()) ?? '')?.refreshToken).toBe('fresh');
  });
});

describe('a renewal by codex itself', () => {
  it('is saved from its home and copied to the others', async () => {
    const [one, two] = [await home('one'), await home('two')];
    const store = await stored('r1', [one, two]);
    const before = clock.now();
    expect(await store.wasRenewedSince(before)).toBe(false);
    await writeFile(copyIn(one), login('r2'));
    expect(await store.wasRenewedSince(before)).toBe(true);
    expect([await refreshIn(file), await refreshIn(copyIn(two))]).toEqual(['r2', 'r2']);
    await writeFile(copyIn(two), login('r3'));
    await store.release(two);
    expect([await refreshIn(file), await refreshIn(copyIn(one))]).toEqual(['r3', 'r3']);
  });

  it('is rescued after a crash, unless there was a new sign-in', async () => {
    const one = await home('one');
    await stored('r1', [one]);
    await writeFile(copyIn(one), login('r2'));
    await new LoginStore({ clock, file }).rescue(one);
    expect(await refreshIn(file)).toBe('r2');
    await writeFile(file, login('fresh'));
    await new LoginStore({ clock, file }).rescue(one);
    expect(await refreshIn(file)).toBe('fresh');
  });

  it('is not read from a half-written file', async () => {
    const one = await home('one');
    const store = await stored('r1', [one]);
    await writeFile(copyIn(one), login('r2').slice(0, 40));
    await store.collect();
    expect(await refreshIn(file)).toBe('r1');
    await writeFile(copyIn(one), login('r2'));
    await store.collect();
    expect(await refreshIn(file)).toBe('r2');
  });
});

describe('the successor of a refresh token', () => {
  it('is read from the file if it belongs to the same account', async () => {
    const store = await stored('r1', [await home('one')]);
    expect(await store.successorOf('r1')).toBe(null);
    await writeFile(file, login('r9'));
    expect(JSON.parse((await store.successorOf('r1')) ?? '')).toEqual({
      id_token: 'i-r9',
      access_token: 'a-r9',
      refresh_token: 'r9',
    });
    expect(await store.successorOf('unknown')).toBe(null);
    await writeFile(file, login('r9', 'another'));
    expect(await store.successorOf('r1')).toBe(null);
  });
});

describe('a file that is not a login', () => {
  it('is not read if it is huge or not a regular file', async () => {
    await writeFile(file, `${login('r1')}${' '.repeat(1024 * 1024)}`);
    const store = new LoginStore({ clock, file });
    expect(await store.find()).toEqual({
      kind: 'refused',
      why: `${file} has 1.0 MB, more than 1 MB, so it is not a login and is not read.`,
    });
    const one = await home('one');
    await store.copyInto(one);
    expect([await store.read(), await readdir(one)]).toEqual([null, []]);
    await chmod(one, 0o700);
    expect(await new LoginStore({ clock, file: one }).find()).toEqual({
      kind: 'refused',
      why: `${one} is not a file, so it is not a login and is not read.`,
    });
  });
});

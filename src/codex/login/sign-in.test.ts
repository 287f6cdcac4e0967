import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { startLoginIssuer, type LoginIssuer } from '../../../test/support/login-issuer.ts';
import { findCodexBinary } from '../binary.ts';
import { readLogin } from './read-login.ts';
import { signIn, signOut, type SignIn } from './sign-in.ts';

/** The real binary signs in at a local issuer. */

let issuer: LoginIssuer;
let root: string;
let options: SignIn;

beforeEach(async () => {
  issuer = await startLoginIssuer();
  root = await mkdtemp(path.join(tmpdir(), 'sign-in-'));
  options = {
    binary: findCodexBinary(),
    stateDir: path.join(root, 'state'),
    loginHome: path.join(root, 'login'),
    environment: {
      PATH: process.env['PATH'],
      HOME: path.join(root, 'user'),
      CODEX_HOME: path.join(root, 'elsewhere'),
      OPENAI_API_KEY: 'sk-of-someone-else',
      ...issuer.environment,
    },
    stdio: 'ignore',
    onErrorLine: () => {},
  };
});

afterEach(async () => {
  issuer.close();
  await rm(root, { recursive: true, force: true });
});

const login = (at = issuer.url): Promise<number> =>
  signIn(options, ['--device-auth', '--experimental_issuer', at]);
const authFile = (): string => path.join(options.loginHome, 'auth.json');
const rights = async (file: string): Promise<number> => (await stat(file)).mode & 0o777;

describe('signIn', () => {
  it('creates the folder and leaves only the login there', async () => {
    expect(await login()).toBe(0);
    expect(readLogin(await readFile(authFile(), 'utf8'))).toMatchObject({
      kind: 'chatgpt',
      plan: 'plus',
      account: 'a***@example.com',
      canRefresh: true,
    });
    expect(await readdir(options.loginHome)).toEqual(['auth.json']);
    expect([await rights(options.loginHome), await rights(authFile())]).toEqual([0o700, 0o600]);
    expect((await readdir(root)).toSorted()).toEqual(['login', 'state']);
    expect(await readdir(path.join(options.stateDir, 'run'))).toEqual([]);
  });

  it('ignores other files in the folder', async () => {
    await mkdir(options.loginHome, { mode: 0o755 });
    await writeFile(path.join(options.loginHome, 'config.toml'), 'this = = is not TOML');
    expect(await login()).toBe(0);
    expect((await readdir(options.loginHome)).toSorted()).toEqual(['auth.json', 'config.toml']);
    expect(await rights(options.loginHome)).toBe(0o755);
  });

  it('keeps a login that is a link', async () => {
    await mkdir(options.loginHome);
    const kept = path.join(root, 'kept.json');
    await writeFile(kept, '{}');
    await symlink(kept, authFile());
    expect(await login()).toBe(0);
    expect(readLogin(await readFile(kept, 'utf8'))).toMatchObject({ kind: 'chatgpt' });
  });

  const fakeCodex = async (script: string): Promise<string[]> => {
    const file = path.join(root, 'codex');
    await writeFile(file, `#!/bin/sh\necho run >> ${root}/runs\n${script}\n`, { mode: 0o700 });
    const said: string[] = [];
    options = { ...options, binary: { path: file, version: '0' }, onErrorLine: (line) => said.push(line) };
    return said;
  };
  const runs = async (): Promise<number> =>
    (await readFile(path.join(root, 'runs'), 'utf8')).trim().split('\n').length;

  it('starts again if codex exited because its success page was opened', async () => {
    // codex 0.166 exits with 0 after any request to http://localhost:1455/success.
    const said = await fakeCodex(
      `[ "$(wc -l < ${root}/runs)" -lt 3 ] || printf '{"OPENAI_API_KEY":"sk-1"}' > "$CODEX_HOME/auth.json"`,
    );
    expect([await login(), await runs()]).toEqual([0, 3]);
    expect(await readFile(authFile(), 'utf8')).toBe('{"OPENAI_API_KEY":"sk-1"}');
    expect(said).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('use the new address')));
  });

  it('gives up after several attempts, and suggests alternatives', async () => {
    await fakeCodex('exit 0');
    await expect(login()).rejects.toThrow('Sign in with --device.');
    expect(await runs()).toBe(5);
  });

  it('keeps the old login if the new sign-in fails', async () => {
    await mkdir(options.loginHome);
    await writeFile(authFile(), '{"OPENAI_API_KEY":"sk-old"}');
    expect(await login('http://127.0.0.1:9')).not.toBe(0);
    expect(await readFile(authFile(), 'utf8')).toBe('{"OPENAI_API_KEY":"sk-old"}');
    expect(await readdir(path.join(options.stateDir, 'run'))).toEqual([]);
  });
});

describe('signOut', () => {
  it('revokes the login at its issuer and removes it', async () => {
    await login();
    await writeFile(path.join(options.loginHome, 'config.toml'), 'this = = is not TOML');
    expect(await signOut(options)).toBe(0);
    expect(issuer.asked.at(-1)).toBe('/oauth/revoke');
    expect(await readdir(options.loginHome)).toEqual(['config.toml']);
  });

  it('does nothing if there is no login', async () => {
    expect([await signOut(options), issuer.asked]).toEqual([0, []]);
  });
});

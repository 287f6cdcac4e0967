import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { findCodexBinary } from '../binary.ts';
import { readLogin } from './read-login.ts';
import { signIn, signOut, type SignIn } from './sign-in.ts';

/** The real binary signs in at a local issuer. */

const token = (claims: object): string =>
  ['{"alg":"none"}', JSON.stringify(claims), 'signature']
    .map((part) => Buffer.from(part).toString('base64url'))
    .join('.');

const CLAIMS = {
  email: 'ann@example.com',
  exp: 4_000_000_000,
  'https://api.openai.com/auth': { chatgpt_plan_type: 'plus', chatgpt_account_id: 'acc-1' },
};

const ANSWERS: Readonly<Record<string, unknown>> = {
  '/api/accounts/deviceauth/usercode': { device_auth_id: 'd', user_code: 'CODE-12345', interval: '1' },
  '/api/accounts/deviceauth/token': { authorization_code: 'a', code_challenge: 'c', code_verifier: 'v' },
  '/oauth/token': { id_token: token(CLAIMS), access_token: token(CLAIMS), refresh_token: 'refresh-1' },
  '/oauth/revoke': {},
};

let issuer: Server;
let url: string;
let asked: string[];
let root: string;
let options: SignIn;

beforeEach(async () => {
  asked = [];
  issuer = createServer((request, response) => {
    asked.push(request.url ?? '');
    const body = ANSWERS[request.url ?? ''];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  issuer.listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  url = `http://127.0.0.1:${(issuer.address() as AddressInfo).port}`;
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
      CODEX_REVOKE_TOKEN_URL_OVERRIDE: `${url}/oauth/revoke`,
    },
    stdio: 'ignore',
    onErrorLine: () => {},
  };
});

afterEach(async () => {
  issuer.close();
  issuer.closeAllConnections();
  await rm(root, { recursive: true, force: true });
});

const login = (at = url): Promise<number> => signIn(options, ['--device-auth', '--experimental_issuer', at]);
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
    expect(asked.at(-1)).toBe('/oauth/revoke');
    expect(await readdir(options.loginHome)).toEqual(['config.toml']);
  });

  it('does nothing if there is no login', async () => {
    expect([await signOut(options), asked]).toEqual([0, []]);
  });
});

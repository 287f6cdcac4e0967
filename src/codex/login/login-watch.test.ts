import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { systemAmbient } from '../../kit/ambient.ts';
import { LoginStore } from '../home/login-store.ts';
import { createLoginWatch } from './login-watch.ts';
import type { CodexHome, CodexHomes } from '../home/prepare-home.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'login-watch-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A codex binary that is a script, with an empty home. */
const homesWith = (binary: string): CodexHomes => {
  const home: CodexHome = { path: dir, environment: {}, isIntact: async () => true, remove: async () => {} };
  return {
    loginHome: dir,
    login: new LoginStore({ clock: systemAmbient.clock, file: path.join(dir, 'auth.json') }),
    lastingDirectory: dir,
    binary: { path: binary, version: '0' },
    bundled: [],
    create: async () => home,
    createForAgents: async () => home,
    createPlain: async () => home,
    requireSpace: async () => {},
  };
};

it('does not mistake a codex that failed to start for a missing login', async () => {
  const binary = path.join(dir, 'codex');
  const script = '#!/bin/sh\necho Logged in using an API key\n';
  await writeFile(path.join(dir, 'auth.json'), '{"OPENAI_API_KEY":"sk-made-up"}');
  const look = createLoginWatch(homesWith(binary));
  await expect(look()).rejects.toThrow('codex could not report the login');
  await writeFile(binary, script);
  await chmod(binary, 0o700);
  expect(await look()).toMatchObject({ kind: 'api-key' });
});

it('does not read a huge file, reports it once, and checks again after a change', async () => {
  const file = path.join(dir, 'auth.json');
  const binary = path.join(dir, 'codex');
  await writeFile(binary, '#!/bin/sh\necho Logged in using an API key\n', { mode: 0o700 });
  await writeFile(file, `{"OPENAI_API_KEY":"${'k'.repeat(3 * 1024 * 1024)}"}`);
  const refused: string[] = [];
  const look = createLoginWatch(homesWith(binary), (why) => refused.push(why));
  expect([await look(), await look(), await look()]).toEqual([null, null, null]);
  expect(refused).toEqual([`${file} has 3.0 MB, more than 1 MB, so it is not a login and is not read.`]);
  await writeFile(file, '{"OPENAI_API_KEY":"sk-made-up"}');
  expect([await look(), refused.length]).toMatchObject([{ kind: 'api-key' }, 1]);
});

it('recognises an access token without asking codex, and notices another one', async () => {
  const file = path.join(dir, 'auth.json');
  const look = createLoginWatch(homesWith(path.join(dir, 'no-codex')));
  await writeFile(file, '{"personal_access_token":"at-1"}');
  const one = await look();
  expect(one).toEqual({
    kind: 'chatgpt',
    account: one?.revision,
    revision: expect.any(String),
    accessToken: { kind: 'personal', origin: 'file', expiresAt: null },
  });
  await writeFile(file, '{"personal_access_token":"at-22"}');
  expect((await look())?.revision).not.toBe(one?.revision);
});

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

import { createLoginWatch } from './login-watch.ts';
import type { CodexHome, CodexHomes } from './prepare-home.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'login-watch-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** A codex that is a script, in a home that is nothing. */
const homesWith = (binary: string): CodexHomes => {
  const home: CodexHome = { path: dir, environment: {}, isIntact: async () => true, remove: async () => {} };
  return {
    loginHome: dir,
    lastingDirectory: dir,
    binary: { path: binary, version: '0' },
    bundled: [],
    create: async () => home,
    createPlain: async () => home,
    requireRoom: async () => {},
  };
};

it('does not take a codex that could not be started for a login that is gone', async () => {
  const binary = path.join(dir, 'codex');
  const script = '#!/bin/sh\necho Logged in using an API key\n';
  await writeFile(path.join(dir, 'auth.json'), '{"OPENAI_API_KEY":"sk-made-up"}');
  const look = createLoginWatch(homesWith(binary));
  await expect(look()).rejects.toThrow('codex could not be asked about the login');
  await writeFile(binary, script);
  await chmod(binary, 0o700);
  expect(await look()).toMatchObject({ kind: 'api-key' });
});

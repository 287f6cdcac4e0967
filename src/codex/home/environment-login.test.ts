import { readdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';

import { environmentLogin } from './environment-login.ts';

it('passes the token in the environment and writes nothing', async () => {
  const dir = await mkdtemp(path.join(tmpdir(), 'environment-login-'));
  try {
    const login = environmentLogin('at-0123456789');
    await login.copyInto(dir);
    await login.renewed(null, '{"access_token":"other"}');
    await login.release(dir);
    expect([login.childEnvironment, await readdir(dir), await login.read()]).toEqual([
      { CODEX_ACCESS_TOKEN: 'at-0123456789' },
      [],
      '{"OPENAI_API_KEY":null,"personal_access_token":"at-0123456789"}',
    ]);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});

it('has the same revision for the same token only', async () => {
  const [one, two] = [environmentLogin('at-1'), environmentLogin('eyJ.e30.s')];
  const revision = async (login: typeof one): Promise<string> => login.revisionOf((await login.read()) ?? '');
  expect(await revision(one)).toBe(await revision(environmentLogin('at-1')));
  expect(await revision(one)).not.toBe(await revision(two));
});

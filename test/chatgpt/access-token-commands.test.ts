import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { openCommandRoom, type CommandRoom } from '../support/command.ts';
import { hello } from '../support/scripts.ts';
import { makeAgentToken, makePersonalToken } from './access-tokens.ts';
import { startChatGptBackend, type ChatGptBackend } from './backend.ts';

/** `login`, `logout` and `doctor` with an access token. */
let room: CommandRoom;
let backend: ChatGptBackend;
beforeEach(async () => {
  room = await openCommandRoom();
  backend = await startChatGptBackend({ script: hello });
});
afterEach(async () => {
  await room.close();
  await backend.close();
});

const run = async (words: readonly string[], env: Record<string, string> = {}, input?: string) => {
  const services = {
    PROXY_CHATGPT_BASE_URL: backend.baseUrl,
    CODEX_AUTHAPI_BASE_URL: `${backend.origin}/api/accounts`,
    CODEX_AGENT_IDENTITY_JWKS_BASE_URL: backend.baseUrl,
    NO_PROXY: '127.0.0.1',
  };
  const command = room.start(words, { ...services, ...env }, undefined, undefined, input);
  const [code] = await command.exited;
  const { out, err } = command.output;
  return { code, out, text: `${out}${err}` };
};

const authFile = (): string => path.join(room.stateDir, 'codex', 'auth.json');

interface Finding {
  readonly check: string;
  readonly grade: string;
  readonly says: string;
  readonly advice: string | null;
}

const loginFinding = async (env: Record<string, string> = {}): Promise<Finding | undefined> => {
  const { out } = await run(['doctor', '--json', '--no-turns'], env);
  const { findings } = JSON.parse(out) as { findings: readonly Finding[] };
  return findings.find(({ check }) => check === 'login');
};

describe.each([
  ['personal', makePersonalToken, 'personal_access_token', 'ChatGPT access token.'],
  ['agent', makeAgentToken, 'agent_identity', 'ChatGPT access token, p***@example.com, plan business.'],
] as const)('a %s access token', (_, make, field, shown) => {
  it('can be signed in with and out again', async () => {
    const token = make();
    const signedIn = await run(['login', '--with-access-token'], {}, `${token}\n`);
    expect(signedIn.code).toBe(0);
    expect(signedIn.text).toContain(`Signed in with ${shown}`);
    expect(signedIn.text).not.toContain(token);
    expect(JSON.parse(await readFile(authFile(), 'utf8'))).toMatchObject({ [field]: token });
    expect((await stat(authFile())).mode & 0o777).toBe(0o600);
    expect((await run(['logout'])).code).toBe(0);
    await expect(stat(authFile())).rejects.toThrow('ENOENT');
  });

  it('is checked by doctor, without being shown', async () => {
    const token = make({ expiresInSeconds: 30 * 86_400 });
    const finding = await loginFinding({ CODEX_ACCESS_TOKEN: token });
    expect(finding).toMatchObject({ grade: 'ok' });
    expect(finding?.says).toContain('access token, p***@example.com, plan business (in CODEX_ACCESS_TOKEN)');
    expect(finding?.says).toContain('cannot be renewed');
    const { text } = await run(['doctor'], { CODEX_ACCESS_TOKEN: token });
    expect(text).toContain('turn, full');
    expect(text).not.toContain(token);
  });

  it('that has expired is a problem, with what to do', async () => {
    const finding = await loginFinding({ CODEX_ACCESS_TOKEN: make({ expiresInSeconds: -60 }) });
    expect(finding).toMatchObject({
      grade: 'problem',
      says: expect.stringContaining('expired'),
      advice: expect.stringContaining('CODEX_ACCESS_TOKEN'),
    });
  });
});

it('a rejected token is not saved, and the login stays', async () => {
  await run(['login', '--with-access-token'], {}, makePersonalToken({ accountId: 'acc-1' }));
  const before = await readFile(authFile(), 'utf8');
  const { code, text } = await run(
    ['login', '--with-access-token'],
    {},
    makePersonalToken({ expiresInSeconds: -60 }),
  );
  expect(code).toBe(1);
  expect(text).toContain('Not signed in; nothing has changed.');
  expect(await readFile(authFile(), 'utf8')).toBe(before);
});

it('an invalid access token stops the start without being shown', async () => {
  const { code, text } = await run(['serve'], { CODEX_ACCESS_TOKEN: 'hunter22' });
  expect(code).toBe(1);
  expect(text).toContain('CODEX_ACCESS_TOKEN');
  expect(text).not.toContain('hunter22');
});

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { hello } from '../support/scripts.ts';
import { makeAgentToken, makePersonalToken, writeAccessToken } from './access-tokens.ts';
import { freshProxies } from './hooks.ts';
import type { LoginOptions } from './login.ts';
import { codeOf, outputText, type Answered, type ChatGptProxy } from './proxy.ts';

/** Tokens are rejected and replaced here: each of these tests has a new proxy. */
const fresh = freshProxies();

const HELLO = 'Hello from the scripted model.';
const ask = (at: ChatGptProxy, more: JsonObject = {}): Promise<Answered> =>
  at.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?', ...more });
const sentBy = (at: ChatGptProxy): unknown => {
  const { authorization, 'chatgpt-account-id': account } = at.backend.modelRequests.at(-1)?.headers ?? {};
  return [authorization?.replace(/ .*/, ''), account];
};
const checksOf = ({ backend }: ChatGptProxy): number =>
  backend.requests.filter(({ path: at }) => at.endsWith('/whoami')).length;

const KINDS: readonly (readonly [string, (options?: LoginOptions) => string, string])[] = [
  ['personal', makePersonalToken, 'Bearer'],
  ['agent', makeAgentToken, 'AgentAssertion'],
];

describe.each(KINDS)('a %s access token', (_, make, scheme) => {
  it('in the login home is a ChatGPT login', async () => {
    const at = await fresh({ accessToken: make({ accountId: 'acc-7' }) });
    for (const stream of [false, true]) expect(outputText(await ask(at, { stream }))).toBe(HELLO);
    expect(sentBy(at)).toEqual([scheme, 'acc-7']);
    expect(at.app.state()).toMatchObject({
      kind: 'login',
      login: 'chatgpt',
      accessToken: { origin: 'file' },
    });
    expect((await at.get('/v1/codex/account')).json).toMatchObject({ backend: 'chatgpt', plan: 'business' });
    expect((await at.get('/v1/codex/rate-limits')).status).toBe(200);
    expect(at.backend.refreshes).toBe(0);
  });

  it('in the environment wins over the login, and is written to no file', async () => {
    const token = make({ accountId: 'acc-8' });
    const at = await fresh({ login: { accountId: 'acc-1' }, env: { CODEX_ACCESS_TOKEN: token } });
    const before = await readFile(path.join(at.home, 'auth.json'), 'utf8');
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(sentBy(at)).toEqual([scheme, 'acc-8']);
    expect(at.app.state()).toMatchObject({ accessToken: { origin: 'environment' } });
    expect(await readFile(path.join(at.home, 'auth.json'), 'utf8')).toBe(before);
    expect(await filesWith(path.dirname(at.home), token)).toEqual([]);
  });

  it('works without the relay', async () => {
    const at = await fresh({ accessToken: make(), env: { PROXY_WIRE: 'off' } });
    const model = { model: 'gpt-6.1-sol' };
    expect(outputText(await ask(at, model))).toBe(HELLO);
    expect(sentBy(at)).toEqual([scheme, 'acc-1']);
    at.backend.spoilTokens('expired');
    expect(codeOf(await ask(at, model))).toBe('503 sign_in_required');
  });

  it('that the backend rejects has to be replaced, and is not tried again and again', async () => {
    const at = await fresh({ accessToken: make() });
    expect(outputText(await ask(at))).toBe(HELLO);
    at.backend.spoilTokens('invalidated');
    const before = at.backend.modelRequests.length;
    const answered = await ask(at);
    expect(codeOf(answered)).toBe('503 sign_in_required');
    expect(answered.text).toContain('CODEX_ACCESS_TOKEN');
    expect(answered.headers.get('x-should-retry')).toBe('false');
    expect(at.backend.modelRequests.length - before).toBe(1);
    expect(at.backend.refreshes).toBe(0);
  });

  it('that has expired before the start is reported, until it is replaced', async () => {
    const at = await fresh({ accessToken: make({ expiresInSeconds: -600 }) });
    const answered = await ask(at);
    expect(codeOf(answered)).toBe('503 sign_in_required');
    expect(answered.text).toContain('CODEX_ACCESS_TOKEN');
    expect(at.backend.modelRequests).toEqual([]);
    await writeAccessToken(at.home, make({ accountId: 'acc-9' }));
    await expect.poll(async () => outputText(await ask(at)), { timeout: 20_000 }).toBe(HELLO);
    expect(sentBy(at)).toEqual([scheme, 'acc-9']);
  });

  it('reaches the service, and nothing that we log or answer', async () => {
    const echo: Script = ({ headers }, connection) =>
      connection.reply(403, { error: { message: `Bad token: ${headers.authorization ?? ''}` } });
    let script: Script = hello;
    const token = make();
    const at = await fresh({
      login: null,
      env: { CODEX_ACCESS_TOKEN: token },
      script: (request, connection) => script(request, connection),
    });
    for (script of [hello, echo]) {
      const { text } = await ask(at);
      const sent = (at.backend.modelRequests.at(-1)?.headers.authorization ?? '').split(' ')[1] ?? '';
      const shown = `${text}${JSON.stringify(at.log)}`;
      expect(sent).not.toBe('');
      expect([token, sent].filter((secret) => shown.includes(secret))).toEqual([]);
    }
  });
});

describe('the check of a personal access token', () => {
  it('is shared by the starts of app-servers', async () => {
    const at = await fresh({ accessToken: makePersonalToken() });
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(checksOf(at)).toBe(1);
  });

  it('that fails is reported as what it is, and repeated', async () => {
    const at = await fresh({
      accessToken: makePersonalToken(),
      prepare: ({ settings }) => {
        settings.tokenCheck = 'fails';
      },
    });
    expect(codeOf(await ask(at))).toBe('503 upstream_overloaded');
    at.backend.settings.tokenCheck = 'ok';
    await expect.poll(async () => outputText(await ask(at)), { timeout: 30_000, interval: 500 }).toBe(HELLO);
    // Not a single model request without credentials.
    expect(at.backend.modelRequests.every(({ headers }) => headers.authorization !== undefined)).toBe(true);
  });
});

it('a replaced token is used without a restart', async () => {
  const at = await fresh({ accessToken: makePersonalToken({ accountId: 'acc-1' }) });
  expect(outputText(await ask(at))).toBe(HELLO);
  await writeAccessToken(at.home, makeAgentToken({ accountId: 'acc-2' }));
  await expect
    .poll(
      async () => {
        await ask(at);
        return sentBy(at);
      },
      { timeout: 20_000 },
    )
    .toEqual(['AgentAssertion', 'acc-2']);
});

/** The files below a folder that contain a text. */
const filesWith = async (dir: string, text: string): Promise<readonly string[]> => {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries.filter((one) => one.isFile())) {
    const file = path.join(entry.parentPath, entry.name);
    // Workers remove their files while we look.
    const content = await readFile(file, 'latin1').catch(() => '');
    if (content.includes(text)) found.push(file);
  }
  return found;
};

import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { hello } from '../support/scripts.ts';
import { freshProxies } from './hooks.ts';
import { codeOf, outputText } from './proxy.ts';
import type { Answered, ChatGptProxy, ChatGptProxyOptions } from './proxy.ts';

/** Sign-ins, account changes and sign-outs while the server runs. */
const fresh = freshProxies();

const started = (options: Partial<ChatGptProxyOptions> = {}): Promise<ChatGptProxy> =>
  fresh({ login: null, ...options });

const HELLO = 'Hello from the scripted model.';
const ask = (at: ChatGptProxy, model = 'codex-5'): Promise<Answered> =>
  at.post('/v1/responses', { model, input: 'Hello?' });
const until = async (at: ChatGptProxy, kind: string): Promise<void> => {
  await expect.poll(() => at.app.state().kind, { timeout: 20_000 }).toBe(kind);
};
const accounts = (at: ChatGptProxy): readonly unknown[] =>
  at.backend.modelRequests.map(({ headers }) => headers['chatgpt-account-id']);

describe('a login that appears', () => {
  it('replaces the demo model, which returns when the login is removed', async () => {
    const at = await started({ env: { CODEX_HOME: '' } });
    expect([at.app.state().kind, (await ask(at)).status, at.backend.modelRequests.length]).toEqual([
      'demo',
      200,
      0,
    ]);
    await at.backend.writeLogin(at.ownHome);
    await until(at, 'login');
    expect(outputText(await ask(at))).toBe(HELLO);
    expect((await at.get('/readyz')).status).toBe(200);
    await rm(path.join(at.ownHome, 'auth.json'));
    await until(at, 'demo');
    expect([(await ask(at)).status, at.backend.modelRequests.length]).toEqual([200, 1]);
  });

  it('ends the wait for one in a named home', async () => {
    const at = await started();
    const signIn = async (): Promise<unknown> => (await at.get('/v1/codex/account')).json['sign_in'];
    expect(await signIn()).toEqual({ state: 'needed', confirmed: true, how: expect.stringMatching(/login/) });
    const answered = await ask(at);
    expect([codeOf(answered), answered.headers.get('x-should-retry')]).toEqual([
      '503 sign_in_required',
      'false',
    ]);
    await at.backend.writeLogin(at.home);
    await until(at, 'login');
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(await signIn()).toEqual({ state: 'signed_in', confirmed: true, how: null });
    expect((await at.get('/v1/codex/usage')).json).toMatchObject({
      usage: { lifetime_tokens: 1, peak_daily_tokens: null },
      days: [{ date: '2026-11-15', tokens: 77 }],
    });
    await rm(path.join(at.home, 'auth.json'));
    await until(at, 'signed-out');
    expect(codeOf(await ask(at))).toBe('503 sign_in_required');
  });

  it('is ignored while it is half written or empty', async () => {
    const at = await started();
    await mkdir(at.home, { recursive: true });
    for (const text of ['', '{', '{}', '{"tokens":null}']) {
      await writeFile(path.join(at.home, 'auth.json'), text);
      expect(codeOf(await ask(at))).toBe('503 sign_in_required');
    }
    await at.backend.writeLogin(at.home);
    await until(at, 'login');
  });
});

describe('a login that changes', () => {
  it('to another account: new turns use that account, and running ones finish', async () => {
    let finish = (): void => {};
    const limiter = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let isFirst = true;
    const slow: Script = async (request, connection) => {
      if (isFirst) {
        isFirst = false;
        await limiter;
      }
      await hello(request, connection);
    };
    const at = await started({ script: slow, login: { accountId: 'acc-1' } });
    const running = ask(at);
    await expect.poll(() => at.backend.modelRequests.length, { timeout: 10_000 }).toBe(1);
    await at.backend.writeLogin(at.home, { accountId: 'acc-2' });
    await expect
      .poll(async () => [outputText(await ask(at)), accounts(at).at(-1)], { timeout: 20_000 })
      .toEqual([HELLO, 'acc-2']);
    finish();
    expect(outputText(await running)).toBe(HELLO);
    expect(accounts(at)[0]).toBe('acc-1');
  });

  it('only in its tokens: the account stays, and workers get the new ones', async () => {
    const at = await started({ login: { accountId: 'acc-1' } });
    const [before] = at.app.workers();
    expect(outputText(await ask(at))).toBe(HELLO);
    at.backend.spoilTokens('invalidated');
    await at.backend.writeLogin(at.home, { accountId: 'acc-1' });
    await expect
      .poll(() => at.app.workers().map(({ pid }) => pid), { timeout: 20_000 })
      .not.toContain(before?.pid);
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(at.backend.refreshes).toBe(0);
  });
});

describe('models', () => {
  it('are those of the account, and its default is `codex-5`', async () => {
    const at = await started({
      login: {},
      prepare: ({ settings }) => {
        settings.models = settings.models.filter(({ slug }) => slug === 'gpt-5.6-luna' || slug === 'gpt-5.5');
      },
    });
    const listed = await at.get('/v1/models');
    const ids = (listed.json['data'] as readonly { id: string }[]).map(({ id }) => id);
    expect(ids.filter((id) => id.startsWith('gpt-6'))).toEqual([]);
    expect(ids).toEqual(expect.arrayContaining(['gpt-5.6-luna', 'gpt-5.5', 'codex-5']));
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(['gpt-5.6-luna', 'gpt-5.5']).toContain(at.backend.modelRequests[0]?.body['model']);
  });
});

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { hello, http400, http500 } from '../support/scripts.ts';
import type { LoginOptions } from './login.ts';
import { freshProxies } from './hooks.ts';
import { codeOf, outputText } from './proxy.ts';
import type { Answered, ChatGptProxy } from './proxy.ts';

/** Bad credentials and block pages have lasting effects: each of these tests has a new proxy. */
const fresh = freshProxies();

const started = (login: LoginOptions = {}, script: Script = hello): Promise<ChatGptProxy> =>
  fresh({ login, script });

const HELLO = 'Hello from the scripted model.';
const ask = (at: ChatGptProxy, more: JsonObject = {}): Promise<Answered> =>
  at.post('/v1/responses', { model: 'gpt-5.5', input: 'Hello?', ...more });

describe('a token', () => {
  it('that expired long ago is refreshed before the first request', async () => {
    const at = await started({ expiresInSeconds: -600 });
    expect(outputText(await ask(at))).toBe(HELLO);
    expect(at.backend.refreshes).toBe(1);
    expect(at.backend.modelRequests).toHaveLength(1);
  });

  it.each(['expired', 'invalidated'] as const)('that turns out to be %s is refreshed', async (how) => {
    const at = await started();
    expect(outputText(await ask(at))).toBe(HELLO);
    at.backend.spoilTokens(how);
    for (const stream of [false, true]) expect(outputText(await ask(at, { stream }))).toBe(HELLO);
    expect(at.backend.refreshes).toBe(1);
  });

  it('that many turns refresh at once is refreshed once, and serves them all', async () => {
    const at = await started();
    at.backend.spoilTokens('expired');
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(at)));
    // codex refreshes once per thread; they share one response.
    expect(answers.map(outputText)).toEqual(answers.map(() => HELLO));
    expect(at.backend.refreshes).toBe(1);
  });

  it.each(['refresh_token_expired', 'refresh_token_reused', 'refresh_token_invalidated'] as const)(
    'that cannot be refreshed (%s) is a server error, not the caller’s',
    async (refresh) => {
      const at = await started();
      at.backend.spoilTokens('expired');
      at.backend.settings.refresh = refresh;
      const answered = await ask(at);
      expect(codeOf(answered)).toMatch(/^502 upstream_unauthorized$|^503 sign_in_required$/);
      expect(answered.headers.get('x-should-retry')).toBe('false');
    },
  );
});

describe('a Cloudflare page', () => {
  it('is reported as what it is', async () => {
    const at = await started();
    at.backend.cloudflare({ on: 'responses' });
    const answered = await ask(at);
    expect(codeOf(answered)).toBe('502 upstream_blocked');
    expect(answered.text).toContain('Cloudflare');
    expect(answered.text).not.toContain('Just a moment');
  });

  it('that sets a cookie lets the next request pass', async () => {
    const at = await started();
    at.backend.cloudflare({ on: 'responses', passesWithCookie: true });
    await ask(at);
    expect(outputText(await ask(at))).toBe(HELLO);
  });

  it('that blocks a refresh is not reported as a bad login', async () => {
    const at = await started();
    at.backend.spoilTokens('expired');
    at.backend.cloudflare({ on: 'token' });
    expect(codeOf(await ask(at))).toBe('502 upstream_blocked');
    at.backend.cloudflare(null);
    expect(outputText(await ask(at))).toBe(HELLO);
  });

  it('that appears repeatedly is bypassed, and requests still work', async () => {
    const at = await started();
    at.backend.cloudflare({ on: 'responses', times: 6 });
    // Without the relay only models of the codex format work: see without-relay.test.ts.
    const code = async () => codeOf(await ask(at, { model: 'gpt-6.1-sol' }));
    expect(await code()).toBe('502 upstream_blocked');
    await expect.poll(code, { timeout: 30_000 }).toBe('200 no code');
    const isOpen = () => JSON.stringify(at.log).includes('bypassing the relay');
    await expect.poll(isOpen, { timeout: 30_000 }).toBe(true);
    expect(await code()).toBe('200 no code');
  });
});

describe('a business account', () => {
  it('works', async () => {
    const at = await started({ plan: 'business' });
    expect(outputText(await ask(at))).toBe(HELLO);
  });

  it('whose settings cannot be loaded is unavailable, reports why, and recovers', async () => {
    const at = await fresh({
      login: { plan: 'business' },
      prepare: ({ settings }) => {
        settings.bundle = 'fails';
      },
    });
    expect(codeOf(await ask(at))).toBe('503 account_unavailable');
    expect((await at.get('/readyz')).status).toBe(503);
    at.backend.settings.bundle = 'ok';
    await expect.poll(async () => (await ask(at)).status, { timeout: 50_000, interval: 500 }).toBe(200);
  });
});

describe('the tokens of a login', () => {
  const secretsOf = async (at: ChatGptProxy): Promise<readonly string[]> => {
    const auth = JSON.parse(await readFile(path.join(at.home, 'auth.json'), 'utf8')) as {
      tokens: Record<string, string>;
    };
    return ['id_token', 'access_token', 'refresh_token'].map((name) => auth.tokens[name] ?? '');
  };

  it('reach the service, and nothing that we log', async () => {
    const echo: Script = ({ headers }, connection) =>
      connection.reply(403, { error: { message: `Bad token: ${headers.authorization ?? ''}` } });
    const cut: Script = (_, connection) => connection.destroy();
    let script: Script = hello;
    const at = await started({}, (request, connection) => script(request, connection));
    const secrets = await secretsOf(at);
    for (script of [hello, echo, http500, http400(), cut]) {
      const { text } = await ask(at);
      const sent = at.backend.modelRequests.at(-1);
      expect(sent?.headers['authorization']).toBe(`Bearer ${secrets[1] ?? ''}`);
      expect(secrets.filter((secret) => `${text}${JSON.stringify(at.log)}`.includes(secret))).toEqual([]);
    }
  });
});

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { isJsonObject } from '../../src/kit/json/json.ts';
import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { ask, asked, backend, fullWithHistory, post, useBackend } from './ask-backend.ts';
import type { Draft } from './conforming.ts';
import { accountOf, makeTokens, writeApiKeyLogin } from './login.ts';
import { textOf } from './rule.ts';

useBackend();

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'imitation-'));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe('tokens', () => {
  const login = async (): Promise<Record<string, string>> => {
    await backend.writeLogin(dir, { plan: 'pro', accountId: 'acc-9' });
    const auth = JSON.parse(await readFile(path.join(dir, 'auth.json'), 'utf8')) as JsonObject;
    expect(isJsonObject(auth['tokens']) && auth['tokens']['account_id']).toBe('acc-9');
    return auth['tokens'] as Record<string, string>;
  };
  const withTokens = (tokens: JsonObject): Draft => {
    const draft = fullWithHistory();
    draft.headers['authorization'] = `Bearer ${textOf(tokens['access_token'])}`;
    draft.headers['chatgpt-account-id'] = 'acc-9';
    return draft;
  };
  const refresh = (token: Json | undefined): ReturnType<typeof post> =>
    post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token });

  it('that expired are rejected until they are refreshed; a refresh token works once', async () => {
    const tokens = await login();
    expect((await ask(withTokens(tokens))).status).toBe(200);
    backend.spoilTokens('expired');
    expect(await asked(withTokens(tokens))).toMatchObject({
      status: 401,
      body: { error: { code: 'token_expired' } },
    });
    const renewed = await refresh(tokens['refresh_token']);
    expect(renewed.status).toBe(200);
    expect((await ask(withTokens(renewed.body))).status).toBe(200);
    expect(await refresh(tokens['refresh_token'])).toMatchObject({
      status: 401,
      body: { error: { code: 'refresh_token_reused' } },
    });
    expect(backend.refreshes).toBe(2);
    expect(backend.violations()).toEqual([]);
  });

  it('that were invalidated, revoked, or are of another account are rejected', async () => {
    const tokens = await login();
    const invalidated = { status: 401, body: { error: { code: 'token_invalidated' } } };
    backend.spoilTokens('invalidated');
    expect(await asked(withTokens(tokens))).toMatchObject(invalidated);
    backend.reset();
    await post('/oauth/revoke', { token: tokens['access_token'] });
    expect(await asked(withTokens(tokens))).toMatchObject(invalidated);
    const draft = withTokens(makeTokens(accountOf({ accountId: 'acc-2' })) as unknown as JsonObject);
    expect(await asked(draft)).toMatchObject(invalidated);
  });

  it('can be made expired, and refreshing can be made to fail', async () => {
    const draft = fullWithHistory();
    draft.headers['authorization'] = `Bearer ${makeTokens(accountOf({}), -60).access_token}`;
    expect(await asked(draft)).toMatchObject({ body: { error: { code: 'token_expired' } } });
    backend.settings.refresh = 'refresh_token_expired';
    expect(await refresh('any')).toMatchObject({ body: { error: { code: 'refresh_token_expired' } } });
    backend.settings.refresh = 'ok';
    expect(await refresh('any')).toMatchObject({ body: { error: { code: 'refresh_token_invalidated' } } });
  });

  it('can come from a device login', async () => {
    expect((await post('/api/accounts/deviceauth/usercode', {})).body['user_code']).toBe('CODE-12345');
    expect((await post('/api/accounts/deviceauth/token', {})).status).toBe(404);
    backend.settings.deviceLogin = 'approved';
    const { body } = await post('/api/accounts/deviceauth/token', {});
    const granted = await post('/oauth/token', {
      grant_type: 'authorization_code',
      code: body['authorization_code'],
    });
    expect(Object.keys(granted.body)).toEqual(
      expect.arrayContaining(['id_token', 'access_token', 'refresh_token']),
    );
  });

  it('can be those of an API key login', async () => {
    await writeApiKeyLogin(dir, 'sk-1');
    expect(JSON.parse(await readFile(path.join(dir, 'auth.json'), 'utf8'))).toMatchObject({
      OPENAI_API_KEY: 'sk-1',
    });
  });
});

import { readFile } from 'node:fs/promises';
import path from 'node:path';

import { expect, it } from 'vitest';

import { freshProxies } from './hooks.ts';
import { codeOf, KEY, outputText, type Answered, type ChatGptProxy } from './proxy.ts';

/** Signing in and out over HTTP, as the console does it. */
const fresh = freshProxies();

const ask = (at: ChatGptProxy): Promise<Answered> =>
  at.post('/v1/responses', { model: 'codex-5', input: 'Hello?' });
const remove = async (at: ChatGptProxy, route: string): Promise<unknown> => {
  const init = { method: 'DELETE', headers: { authorization: `Bearer ${KEY}` } };
  return (await fetch(at.url + route, init)).json();
};

it('signs in with a device code, serves turns with the new login, and signs out', async () => {
  const at = await fresh({ login: null });
  expect(codeOf(await ask(at))).toBe('503 sign_in_required');
  const started = await at.post('/v1/codex/login', { method: 'device' });
  expect([started.status, started.headers.get('cache-control')]).toEqual([201, 'no-store']);
  expect(started.json).toEqual({
    object: 'codex.login',
    id: expect.stringMatching(/^login_/),
    status: 'pending',
    method: 'device',
    verification_url: `${at.backend.origin}/codex/device`,
    user_code: expect.any(String),
    auth_url: null,
    error: null,
    created_at: expect.any(Number),
    expires_at: Number(started.json['created_at']) + 15 * 60,
    overridden_by: null,
  });
  const route = `/v1/codex/login/${started.json['id'] as string}`;
  expect((await at.get(route)).json).toEqual(started.json);
  expect(codeOf(await at.post('/v1/codex/login', { method: 'device' }))).toBe('409 sign_in_pending');
  at.backend.settings.deviceLogin = 'approved';
  await expect.poll(async () => (await at.get(route)).json['status'], { timeout: 20_000 }).toBe('succeeded');
  await expect.poll(() => at.app.state().kind, { timeout: 20_000 }).toBe('login');
  expect(outputText(await ask(at))).toBe('Hello from the scripted model.');
  const saved = await readFile(path.join(at.home, 'auth.json'), 'utf8');
  const { tokens } = JSON.parse(saved) as { tokens: Record<string, string> };
  const all = await at.get('/v1/codex/login');
  expect(all.json).toMatchObject({
    object: 'list',
    data: [{ ...started.json, status: 'succeeded' }],
    has_more: false,
    methods: ['device', 'browser'],
    overridden_by: null,
  });
  for (const token of [tokens['access_token'], tokens['refresh_token'], tokens['id_token']])
    expect(`${all.text}${JSON.stringify(at.log)}`).not.toContain(token);
  expect((await at.post('/v1/codex/logout', {})).json).toEqual({
    object: 'codex.logout',
    signed_out: true,
    overridden_by: null,
  });
  await expect.poll(() => at.app.state().kind, { timeout: 20_000 }).toBe('signed-out');
  expect(codeOf(await ask(at))).toBe('503 sign_in_required');
});

it('refuses what it cannot do, cancels, and says what takes precedence', async () => {
  const at = await fresh({
    login: null,
    env: { PROXY_UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1', PROXY_UPSTREAM_API_KEY: 'sk-upstream' },
  });
  expect(codeOf(await at.post('/v1/codex/login', {}))).toBe('400 missing_required_parameter');
  expect(codeOf(await at.post('/v1/codex/login', { method: 'sms' }))).toBe('400 invalid_value');
  // A reverse proxy passes the request on: the browser is elsewhere.
  const forwarded = await at.post(
    '/v1/codex/login',
    { method: 'browser' },
    { 'x-forwarded-for': '10.0.0.1' },
  );
  expect([codeOf(forwarded), forwarded.text]).toEqual([
    '400 unsupported_value',
    expect.stringContaining("use 'device'"),
  ]);
  expect(codeOf(await at.get('/v1/codex/login/login_0'))).toBe('404 unknown_sign_in');
  const { json } = await at.post('/v1/codex/login', { method: 'device' });
  expect(json).toMatchObject({ status: 'pending', overridden_by: 'PROXY_UPSTREAM_BASE_URL' });
  const looks = await at.post('/v1/codex/keys', { name: 'looks', scopes: ['read'] });
  const headers = { authorization: `Bearer ${looks.json['key'] as string}` };
  const seen = await fetch(`${at.url}/v1/codex/login/${json['id'] as string}`, { headers });
  // Who knows the code could sign in with another account.
  expect(await seen.json()).toEqual({ ...json, verification_url: null, user_code: null });
  expect(codeOf(await at.post('/v1/codex/login', { method: 'device' }, headers))).toBe('403 missing_scope');
  expect(codeOf(await at.post('/v1/codex/logout', {}, headers))).toBe('403 missing_scope');
  expect(await remove(at, `/v1/codex/login/${json['id'] as string}`)).toEqual({
    ...json,
    status: 'cancelled',
  });
  expect((await at.post('/v1/codex/logout', {})).json).toMatchObject({
    overridden_by: 'PROXY_UPSTREAM_BASE_URL',
  });
});

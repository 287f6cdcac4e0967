import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';

import { isJsonObject } from '../../src/kit/json.ts';
import type { Json, JsonObject } from '../../src/kit/json.ts';
import { hello, reasoningThenText } from '../support/scripts.ts';
import { startChatGptBackend } from './backend.ts';
import type { ChatGptBackend } from './backend.ts';
import { fullDraft, liteDraft, OWN_REASONING } from './conforming.ts';
import type { Draft } from './conforming.ts';
import { accountOf, makeTokens, writeApiKeyLogin } from './login.ts';
import { textOf } from './rule.ts';

let backend: ChatGptBackend;
let dir: string;

beforeAll(async () => {
  backend = await startChatGptBackend({ script: hello });
  dir = await mkdtemp(path.join(tmpdir(), 'imitation-'));
});
afterEach(() => backend.reset());
afterAll(async () => {
  await backend.close();
  await rm(dir, { recursive: true, force: true });
});

const fullWithHistory = (): Draft => {
  backend.settings.ownEncrypted = new Set([OWN_REASONING]);
  return fullDraft();
};

const ask = (draft: Draft): Promise<Response> =>
  fetch(`${backend.baseUrl}/codex/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...draft.headers },
    body: JSON.stringify(draft.body),
  });

const asked = async (draft: Draft): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await ask(draft);
  return { status: response.status, body: await response.json() };
};

const eventsOf = (text: string): readonly JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as JsonObject);

const get = (at: string, headers: Record<string, string> = fullDraft().headers): Promise<Response> =>
  fetch(backend.origin + at, { headers });

const post = async (at: string, body: Json): Promise<{ status: number; body: JsonObject }> => {
  const response = await fetch(backend.origin + at, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as JsonObject };
};

describe('a model request', () => {
  it('that breaks no rule is answered by the scripted model, as the service would send it', async () => {
    const response = await ask(fullWithHistory());
    const events = eventsOf(await response.text());
    expect(response.status).toBe(200);
    expect(response.headers.get('x-codex-primary-used-percent')).toBe('42');
    expect(response.headers.get('x-codex-plan-type')).toBe('plus');
    expect(response.headers.get('openai-model')).toBe('gpt-5.5');
    expect(events.slice(0, 5).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'codex.rate_limits',
      'response.metadata',
      'keepalive',
    ]);
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [], usage: { input_tokens: 11 } },
    });
    expect(backend.violations('A', 'B', 'C')).toEqual([]);
    expect(backend.modelRequests.map(({ lane, broken }) => ({ lane, broken }))).toEqual([
      { lane: 'full', broken: [] },
    ]);
  });

  it('that breaks rules is refused by the first, and all of them are written down', async () => {
    const draft = fullWithHistory();
    draft.body['temperature'] = 1;
    draft.body['stop'] = 'x';
    draft.headers['x-forwarded-for'] = '10.0.0.1';
    expect(await asked(draft)).toEqual({
      status: 400,
      body: { detail: 'Unsupported parameter: temperature' },
    });
    const named = (...of: ('A' | 'B' | 'C')[]): string[] =>
      backend.violations(...of).map(({ rule, confidence }) => `${confidence} ${rule}`);
    expect(named()).toEqual(['B header.forwarded', 'A parameter.temperature']);
    expect(named('C')).toEqual(['C parameter.unknown']);
    expect(backend.violations()[0]?.request.body['temperature']).toBe(1);
  });

  it('may bring back the reasoning that this backend gave out, and no other', async () => {
    backend.use(reasoningThenText);
    const draft = liteDraft();
    const index = draft.body.input.findIndex(({ type }) => type === 'reasoning');
    const bring = (encrypted: string): void => {
      draft.body.input[index] = { ...draft.body.input[index], encrypted_content: encrypted };
    };
    bring('opaque-reasoning');
    expect(await asked(draft)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_encrypted_content' } },
    });
    draft.body.input.splice(index, 1);
    await (await ask(draft)).text();
    draft.body.input.splice(index, 0, { type: 'reasoning', id: 'rs_1', summary: [] });
    bring('opaque-reasoning');
    const response = await ask(draft);
    await response.text();
    expect(response.status).toBe(200);
    // Nobody can know whose reasoning it is without trying.
    expect(backend.violations()).toEqual([]);
    expect(backend.modelRequests[0]?.broken).toEqual(['reasoning.own']);
  });

  it('may echo the state of its own turn only', async () => {
    const draft = fullWithHistory();
    draft.headers['x-codex-turn-metadata'] = '{"turn_id":"turn-1"}';
    const first = await ask(draft);
    await first.text();
    draft.headers['x-codex-turn-state'] = first.headers.get('x-codex-turn-state') ?? '';
    await (await ask(draft)).text();
    expect(backend.violations()).toEqual([]);
    draft.headers['x-codex-turn-metadata'] = '{"turn_id":"turn-2"}';
    await (await ask(draft)).text();
    expect(backend.violations().map(({ rule }) => rule)).toEqual(['header.x-codex-turn-state']);
  });
});

describe('faults', () => {
  it.each([
    [
      { kind: 'usage-limit', via: 'http', resetsAt: 1_900_000_000 },
      429,
      {
        error: {
          type: 'usage_limit_reached',
          message: 'The usage limit has been reached',
          plan_type: 'plus',
          resets_at: 1_900_000_000,
        },
      },
    ],
    [{ kind: 'burst' }, 429, { detail: 'Too many requests' }],
    [{ kind: 'usage-not-included' }, 429, { error: { type: 'usage_not_included' } }],
    [
      { kind: 'overload', via: 'http', code: 'slow_down' },
      503,
      { error: { code: 'slow_down', type: 'service_unavailable_error' } },
    ],
    [{ kind: 'policy', via: 'http', code: 'bio_policy' }, 400, { error: { code: 'bio_policy' } }],
  ] as const)('%j by HTTP', async (fault, status, body) => {
    backend.fail(fault);
    expect(await asked(fullWithHistory())).toMatchObject({ status, body });
  });

  it.each([
    [
      { kind: 'usage-limit', via: 'stream', resetsInSeconds: 60 },
      ['response.created', 'response.failed'],
      { response: { error: { code: 'usage_limit_reached', resets_in_seconds: 60 } } },
    ],
    [
      { kind: 'overload', via: 'first-event' },
      ['response.failed'],
      { response: { error: { code: 'server_is_overloaded' } } },
    ],
    [
      { kind: 'overload', via: 'first-error-event', code: 'slow_down' },
      ['error'],
      { error: { code: 'slow_down' } },
    ],
    [
      { kind: 'policy', via: 'stream', code: 'cyber_policy' },
      ['response.created', 'response.failed'],
      { response: { error: { code: 'cyber_policy' } } },
    ],
  ] as const)('%j in the stream, so many times', async (fault, types, last) => {
    backend.fail(fault, 2);
    for (const expected of [types, types]) {
      const events = eventsOf(await (await ask(fullWithHistory())).text());
      expect(events.map(({ type }) => type)).toEqual(expected);
      expect(events.at(-1)).toMatchObject(last);
    }
    const events = eventsOf(await (await ask(fullWithHistory())).text());
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
  });

  it('a page of Cloudflare stands in the way until its cookie comes back', async () => {
    backend.cloudflare({ on: 'responses', passesWithCookie: true });
    const draft = fullWithHistory();
    const blocked = await ask(draft);
    expect([blocked.status, blocked.headers.get('cf-mitigated')]).toEqual([403, 'challenge']);
    expect(await blocked.text()).toContain('Just a moment...');
    draft.headers['cookie'] = (blocked.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    expect((await ask(draft)).status).toBe(200);
  });

  it('a page of Cloudflare may come a number of times, also for tokens', async () => {
    backend.cloudflare({ on: 'both', times: 2 });
    expect((await ask(fullWithHistory())).status).toBe(403);
    expect((await fetch(backend.tokenUrl, { method: 'POST', body: '{}' })).status).toBe(403);
    expect((await ask(fullWithHistory())).status).toBe(200);
  });
});

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

  it('that expired are refused until they are refreshed; a refresh token works once', async () => {
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

  it('that were invalidated, revoked, or are of another account are refused', async () => {
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

  it('come by a device login too', async () => {
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

  it('a login by API key can be written', async () => {
    await writeApiKeyLogin(dir, 'sk-1');
    expect(JSON.parse(await readFile(path.join(dir, 'auth.json'), 'utf8'))).toMatchObject({
      OPENAI_API_KEY: 'sk-1',
    });
  });
});

describe('the account', () => {
  it('lists its models to who says which client it is', async () => {
    expect((await get('/backend-api/codex/models')).status).toBe(422);
    const listed = await get('/backend-api/codex/models?client_version=0.166.0');
    const { models } = (await listed.json()) as { models: { slug: string }[] };
    expect(models.map(({ slug }) => slug)).toContain('gpt-5.5');
    backend.settings.modelsEndpoint = 'fails';
    expect((await get('/backend-api/codex/models?client_version=0.166.0')).status).toBe(500);
  });

  it('has settings that can be slow, on, or failing', async () => {
    backend.settings.attribution = true;
    backend.settings.settingsDelayMs = 5;
    const settings = await get('/backend-api/wham/settings/user');
    expect(await settings.json()).toEqual({ commit_attribution_enabled: true });
    expect((await get('/backend-api/wham/config/bundle')).status).toBe(200);
    backend.settings.bundle = 'fails';
    expect((await get('/backend-api/wham/config/bundle')).status).toBe(500);
  });

  it('tells usage, profile and workspace to its owner only', async () => {
    for (const at of ['accounts/check', 'usage', 'profiles/me'])
      expect((await get(`/backend-api/wham/${at}`)).status).toBe(200);
    expect((await get('/backend-api/wham/usage', {})).status).toBe(401);
    expect((await get('/backend-api/wham/nothing')).status).toBe(404);
    expect(backend.requests.map(({ path: at }) => at)).toHaveLength(5);
  });
});

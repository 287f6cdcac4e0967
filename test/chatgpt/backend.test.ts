import { describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { reasoningThenText } from '../support/scripts.ts';
import { ask, asked, backend, fullWithHistory, get, useBackend } from './ask-backend.ts';
import { codexFormatDraft } from './conforming.ts';

useBackend();

const eventsOf = (text: string): readonly JsonObject[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as JsonObject);
describe('a model request', () => {
  it("that breaks no rule is answered by the scripted model in the service's format", async () => {
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
    expect(backend.modelRequests.map(({ requestFormat, broken }) => ({ requestFormat, broken }))).toEqual([
      { requestFormat: 'responses', broken: [] },
    ]);
  });

  it('that breaks rules is rejected by the first, and all of them are recorded', async () => {
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

  it('may send back reasoning that this backend issued, and no other', async () => {
    backend.use(reasoningThenText);
    const draft = codexFormatDraft();
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
    // Whose reasoning it is can only be found by trying.
    expect(backend.violations()).toEqual([]);
    expect(backend.modelRequests[0]?.broken).toEqual(['reasoning.own']);
  });

  it('may echo only the state of its own turn', async () => {
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
  ] as const)('%j over HTTP', async (fault, status, body) => {
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
  ] as const)('%j in the stream, a number of times', async (fault, types, last) => {
    backend.fail(fault, 2);
    for (const expected of [types, types]) {
      const events = eventsOf(await (await ask(fullWithHistory())).text());
      expect(events.map(({ type }) => type)).toEqual(expected);
      expect(events.at(-1)).toMatchObject(last);
    }
    const events = eventsOf(await (await ask(fullWithHistory())).text());
    expect(events.at(-1)).toMatchObject({ type: 'response.completed' });
  });

  it('a Cloudflare page blocks requests until its cookie comes back', async () => {
    backend.cloudflare({ on: 'responses', passesWithCookie: true });
    const draft = fullWithHistory();
    const blocked = await ask(draft);
    expect([blocked.status, blocked.headers.get('cf-mitigated')]).toEqual([403, 'challenge']);
    expect(await blocked.text()).toContain('Just a moment...');
    draft.headers['cookie'] = (blocked.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
    expect((await ask(draft)).status).toBe(200);
  });

  it('a Cloudflare page may appear a number of times, also for tokens', async () => {
    backend.cloudflare({ on: 'both', times: 2 });
    expect((await ask(fullWithHistory())).status).toBe(403);
    expect((await fetch(backend.tokenUrl, { method: 'POST', body: '{}' })).status).toBe(403);
    expect((await ask(fullWithHistory())).status).toBe(200);
  });
});
describe('the account', () => {
  it('lists its models to clients that send their version', async () => {
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

  it('sends usage, profile and workspace to its owner only', async () => {
    for (const at of ['accounts/check', 'usage', 'profiles/me'])
      expect((await get(`/backend-api/wham/${at}`)).status).toBe(200);
    expect((await get('/backend-api/wham/usage', {})).status).toBe(401);
    expect((await get('/backend-api/wham/nothing')).status).toBe(404);
    expect(backend.requests.map(({ path: at }) => at)).toHaveLength(5);
  });
});

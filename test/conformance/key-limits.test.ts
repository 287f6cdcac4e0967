import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';

import type { KeyLimit } from '../../src/features/keys/key.ts';
import type { JsonObject } from '../../src/kit/json/json.ts';
import { isType, openSocket } from '../support/client-socket.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hangMidStream, hello, http500, says, slow } from '../support/scripts.ts';
import { inBackground, whenEnded } from './background-ask.ts';

/** What named keys are held to, as their clients see it. */

const config = path.join(mkdtempSync(path.join(tmpdir(), 'prices-')), 'config.json');
writeFileSync(config, JSON.stringify({ prices: { 'gpt-5*': { input: 1, cached_input: 0, output: 2 } } }), {
  mode: 0o600,
});
const proxy = await openProxy(hello, { PROXY_CONFIG: config }, { models: null });

type Made = JsonObject & { readonly id: string; readonly key: string };

const make = async (fields: object): Promise<Made> =>
  (await (await proxy.post('/v1/codex/keys', { name: 'limited', ...fields })).json()) as Made;

const requests = (max: number, window: KeyLimit['window'] = 'day') => ({ unit: 'requests', window, max });

const clientOf = ({ key: apiKey }: Made): OpenAI =>
  new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey, maxRetries: 0 });

const post = (key: Made, route: string, body: object): Promise<Response> =>
  fetch(proxy.url + route, {
    method: 'POST',
    headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const ask = { model: 'gpt-5.5', input: 'hi', max_output_tokens: 100 };

const limitsOf = async ({ id }: Made): Promise<readonly JsonObject[]> => {
  const answer = await proxy.get(`/v1/codex/keys/${id}/limits`);
  return ((await answer.json()) as { data: JsonObject[] }).data;
};

/** The usage is settled after the answer has ended. */
const expectUsed = async (key: Made, used: readonly number[]): Promise<void> => {
  await expect.poll(async () => (await limitsOf(key)).map((one) => one['used'])).toEqual(used);
};

describe('a limit', () => {
  it('counts the real usage of tokens, requests and cost', async () => {
    proxy.use(hello);
    const limits = [
      { unit: 'tokens', window: 'minute', max: 10_000 },
      requests(100, '5h'),
      { unit: 'cost', window: 'month', max: 1, model: 'gpt-*' },
    ];
    const key = await make({ limits });
    const answer = await post(key, '/v1/responses', ask);
    expect(answer.headers.get('x-ratelimit-limit-tokens')).toBe('10000');
    await answer.text();
    // 8 new tokens of input for 1 a million, and 7 of output for 2.
    await expectUsed(key, [18, 1, 0.000_022]);
    const shown = await limitsOf(key);
    expect(shown[1]).toEqual({
      object: 'codex.key.limit',
      unit: 'requests',
      window: '5h',
      model: null,
      max: 100,
      used: 1,
      remaining: 99,
      began_at: expect.any(Number),
      resets_at: expect.any(Number),
    });
    const lasts = Number(shown[1]?.['resets_at']) - Number(shown[1]?.['began_at']);
    // Rounded up, if need be.
    expect([18_000, 18_001]).toContain(lasts);
    const own = await fetch(`${proxy.url}/v1/usage`, { headers: { authorization: `Bearer ${key.key}` } });
    expect(((await own.json()) as JsonObject)['limits']).toEqual(shown);
  });

  it('refuses with 429 before anything is sent upstream, on every API', async () => {
    proxy.use(hello);
    const key = await make({ limits: [requests(1)] });
    await clientOf(key).responses.create(ask);
    await expectUsed(key, [1]);
    const sent = proxy.model.requests.length;
    const refused = await post(key, '/v1/responses', { ...ask, stream: true });
    expect(refused.status).toBe(429);
    const { error } = (await refused.json()) as { readonly error: JsonObject };
    expect({ retry: refused.headers.get('x-should-retry'), error }).toEqual({
      retry: 'false',
      error: {
        message: expect.stringMatching(
          /^This key has reached its limit of 1 requests per day: 1 are used, and this request may use up to 1\. The limit resets at \d{4}-\d\d-\d\dT00:00:00\.000Z\.$/,
        ),
        type: 'rate_limit_error',
        param: null,
        code: 'key_limit_exceeded',
        limit: {
          unit: 'requests',
          window: 'day',
          model: null,
          max: 1,
          used: 1,
          resets_at: expect.stringMatching(/T00:00:00\.000Z$/),
        },
      },
    });
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds > 0 && seconds <= 86_400).toBe(true);
    const messages = [{ role: 'user', content: 'hi' }];
    const others = await Promise.all([
      post(key, '/v1/chat/completions', { model: 'gpt-5.5', messages }),
      post(key, '/v1/completions', { model: 'gpt-5.5', prompt: 'hi' }),
      post(key, '/v1/messages', { model: 'gpt-5.5', max_tokens: 5, messages }),
      post(key, '/v1/responses', { ...ask, background: true }),
    ]);
    expect(others.map(({ status }) => status)).toEqual([429, 429, 429, 429]);
    expect(await others[2].json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    const socket = await openSocket({ url: proxy.url, key: key.key });
    socket.send({ ...ask, type: 'response.create' });
    expect(await socket.next(isType('error'))).toMatchObject({
      status: 429,
      error: { code: 'key_limit_exceeded' },
    });
    socket.ws.close();
    expect(proxy.model.requests).toHaveLength(sent);
    // Counting tokens is free.
    expect((await post(key, '/v1/responses/input_tokens', { model: 'gpt-5.5', input: 'hi' })).status).toBe(
      200,
    );
    await proxy.post(`/v1/codex/keys/${key.id}/reset`, {});
    expect((await clientOf(key).responses.create(ask)).status).toBe('completed');
  });

  it('counts every choice', async () => {
    proxy.use(hello);
    const key = await make({ limits: [requests(3)] });
    const chat = { model: 'gpt-5.5', messages: [{ role: 'user', content: 'hi' }], n: 2 };
    expect((await post(key, '/v1/chat/completions', chat)).status).toBe(200);
    await expectUsed(key, [2]);
    expect((await post(key, '/v1/chat/completions', chat)).status).toBe(429);
  });

  it('gives back what failed without usage, and estimates what a client has left', async () => {
    const key = await make({ limits: [{ unit: 'tokens', window: 'day', max: 100_000 }] });
    proxy.use(http500);
    expect((await post(key, '/v1/responses', ask)).status).toBe(502);
    await expectUsed(key, [0]);
    proxy.use(hangMidStream);
    const gone = new AbortController();
    const stream = await clientOf(key).responses.create({ ...ask, stream: true }, { signal: gone.signal });
    for await (const event of stream) if (event.type === 'response.output_text.delta') break;
    gone.abort();
    // A third of the body, and of "Wait for".
    await expectUsed(key, [Math.ceil(JSON.stringify({ ...ask, stream: true }).length / 3) + 3]);
  });

  it('counts hidden reasoning, however the answer ends', async () => {
    const hidden = 'x'.repeat(106_667);
    proxy.use(
      says([
        { reasoning: { summary: [], encrypted: hidden } },
        { text: `One two three ${'four '.repeat(20)}last` },
      ]),
    );
    const key = await make({ limits: [{ unit: 'tokens', window: 'day', max: 1_000_000 }] });
    const messages = [{ role: 'user', content: 'Count.' }];
    const model = 'gpt-5.5';
    const cut: readonly (readonly [string, object])[] = [
      ['/v1/chat/completions', { model, messages, stop: ['three'] }],
      ['/v1/chat/completions', { model, messages, max_tokens: 3, stream: true }],
      ['/v1/messages', { model, messages, max_tokens: 4_000, stop_sequences: ['three'] }],
    ];
    for (const [at, [route, body]] of cut.entries()) {
      const answer = await post(key, route, body);
      expect(await answer.text()).not.toContain('last');
      // Each of them is a little more than its hidden reasoning of 20,000 tokens.
      await expect
        .poll(async () => Math.floor(Number((await limitsOf(key))[0]?.['used']) / 20_000))
        .toBe(at + 1);
    }
  });

  it('holds for steering: each steer is a model request, and what it interrupts is counted', async () => {
    const written = 'one two three four five six';
    proxy.use(says([{ text: written, end: 'open' }, { hang: true }]));
    const limits = [requests(3), { unit: 'tokens', window: 'day', max: 1_000_000 }];
    const key = await make({ limits });
    const sent = proxy.model.requests.length;
    const answers: number[] = [];
    const stream = await clientOf(key).responses.create({ ...ask, stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      if (event.type !== 'response.output_text.delta' || !written.endsWith(event.delta)) continue;
      const answer = await post(key, `/v1/responses/${id}/steer`, { input: 'Go on.' });
      answers.push(answer.status);
      if (answer.status !== 429) continue;
      expect(await answer.json()).toMatchObject({ error: { code: 'key_limit_exceeded' } });
      break;
    }
    expect([answers, proxy.model.requests.length - sent]).toEqual([[202, 202, 429], 3]);
    // Two that were interrupted, and one that its client left.
    await expect.poll(async () => (await limitsOf(key))[0]?.['used']).toBe(3);
    await expect.poll(async () => Number((await limitsOf(key))[1]?.['used'])).toBeLessThan(200);
    expect(Number((await limitsOf(key))[1]?.['used'])).toBeGreaterThan(3 * 8);
  });

  it('is settled for a background response', async () => {
    proxy.use(hello);
    const key = await make({ limits: [{ unit: 'tokens', window: '7d', max: 100_000 }] });
    const client = clientOf(key);
    const { status } = await whenEnded(client, (await inBackground(client)).id);
    expect(status).toBe('completed');
    await expectUsed(key, [18]);
  });

  it('of the cost needs a price', async () => {
    const key = await make({ limits: [{ unit: 'cost', window: 'day', max: 1 }] });
    const answer = await post(key, '/v1/responses', { ...ask, model: 'o9' });
    expect(await answer.json()).toMatchObject({ error: { param: 'model', code: 'unsupported_value' } });
  });
});

describe('a key', () => {
  it('sees and uses only its models', async () => {
    proxy.use(hello);
    const key = await make({ models: ['gpt-5.5'] });
    const names = (await clientOf(key).models.list()).data.map(({ id }) => id);
    expect(names.filter((name) => !/^(?:gpt-5\.5|codex-5)/.test(name))).toEqual([]);
    expect(names).toContain('gpt-5.5');
    await expect(clientOf(key).models.retrieve('gpt-5.4')).rejects.toMatchObject({ status: 404 });
    expect((await clientOf(key).responses.create(ask)).status).toBe('completed');
    await expect(clientOf(key).responses.create({ ...ask, model: 'gpt-5.4' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
  });

  it('has a ceiling for its effort', async () => {
    proxy.use(hello);
    const key = await make({ effort: 'low' });
    await expect(
      clientOf(key).responses.create({ ...ask, reasoning: { effort: 'high' } }),
    ).rejects.toMatchObject({ status: 400, code: 'unsupported_value', param: 'reasoning.effort' });
    const lowered = await clientOf(key).responses.create(ask);
    expect(proxy.model.requests.at(-1)?.body).toMatchObject({ reasoning: { effort: 'low' } });
    expect(lowered.reasoning).toMatchObject({ effort: 'low' });
  });

  it('has a share of the turns that run', async () => {
    const key = await make({ concurrency: 1 });
    proxy.use(slow());
    const [one, two] = await Promise.all([post(key, '/v1/responses', ask), post(key, '/v1/responses', ask)]);
    expect(new Set([one.status, two.status])).toEqual(new Set([200, 429]));
    await Promise.all([one.text(), two.text()]);
    proxy.use(hello);
    expect((await post(key, '/v1/responses', ask)).status).toBe(200);
  });
});

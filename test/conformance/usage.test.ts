import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import OpenAI from 'openai';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openSocket } from '../support/client-socket.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { hello, HELLO_USAGE, http500 } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { hangs, inBackground, whenEnded } from './background-ask.ts';

const OTHER_KEY = 'sk-other-key-0123456789';
const proxy = await openProxy(hello, { PROXY_API_KEY: `sk-test-key-0123456789,${OTHER_KEY}` });
const other = new OpenAI({ baseURL: `${proxy.url}/v1`, apiKey: OTHER_KEY, maxRetries: 0 });
const admin = new OpenAI({ baseURL: `${proxy.url}/v1`, adminAPIKey: proxy.key, apiKey: null, maxRetries: 0 });
const started = freshProxies();

const DAY = 86_400;
/** The tests may run over midnight, so they look at this day and the next one together. */
const FIRST_DAY = Math.floor(Date.now() / 1000 / DAY) * DAY;

const usageOf = async (of: Pick<TestProxy, 'get'>, query = ''): Promise<JsonObject> =>
  (await (await of.get(`/v1/usage${query}`)).json()) as JsonObject;

const NO_ERRORS = { client: 0, limit: 0, upstream: 0, server: 0 };

/** What `answers` that said hello used. */
const counted = (answers: number, different: JsonObject = {}): JsonObject => ({
  requests: answers,
  errors: NO_ERRORS,
  cancelled: 0,
  input_tokens: answers * HELLO_USAGE.inputTokens,
  input_cached_tokens: answers * HELLO_USAGE.cachedInputTokens,
  input_cache_write_tokens: answers * HELLO_USAGE.cacheWriteInputTokens,
  output_tokens: answers * HELLO_USAGE.outputTokens,
  output_reasoning_tokens: answers * HELLO_USAGE.reasoningTokens,
  image_input_tokens: 0,
  image_output_tokens: 0,
  ...different,
});

type UsageResult = OpenAI.Admin.Organization.UsageCompletionsResponse['data'][number]['results'][number];

/** One result per key: the figures of its days together. */
const addedByKey = (results: readonly UsageResult[]): readonly JsonObject[] => {
  const byKey = new Map<unknown, JsonObject>();
  for (const result of results as unknown as readonly JsonObject[]) {
    const before = byKey.get(result['api_key_id']) ?? {};
    const added = Object.entries(result).map(([name, value]) => {
      const sum = before[name];
      return [name, typeof value === 'number' && typeof sum === 'number' ? value + sum : value] as const;
    });
    byKey.set(result['api_key_id'], Object.fromEntries(added));
  }
  return [...byKey.values()];
};

const QUANTILES = { p50: expect.any(Number), p90: expect.any(Number), p99: expect.any(Number) };
const LATENCY = { first_event_ms: QUANTILES, duration_ms: { mean: expect.any(Number), ...QUANTILES } };

/** Runs turns in every way, 5 of them answered; 2 fail, one client leaves. */
const useEverything = async (): Promise<void> => {
  const { openai } = proxy;
  const ask = { model: 'gpt-5.5', input: 'Hi' };
  await openai.responses.create(ask);
  const stream = await openai.responses.create({ ...ask, stream: true });
  for await (const event of stream) void event;
  const socket = await openSocket(proxy);
  await socket.create(ask);
  socket.ws.close();
  await whenEnded(openai, (await inBackground(openai)).id);
  const chat = { model: 'gpt-5.5', messages: [{ role: 'user' as const, content: 'Hi' }] };
  await openai.chat.completions.create({ ...chat, n: 2 });
  await openai.models.list();
  expect((await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 1 })).status).toBe(400);
  proxy.use(http500);
  expect((await proxy.post('/v1/responses', ask)).status).toBeGreaterThanOrEqual(500);
  proxy.use(hangs);
  const left = new AbortController();
  const abandoned = await proxy.post('/v1/responses', { ...ask, stream: true }, { signal: left.signal });
  await abandoned.body?.getReader().read();
  left.abort();
  proxy.use(hello);
};

it('is recorded for every way to run a turn, and read by its key and by all others together', async () => {
  await useEverything();
  await other.responses.create({ model: 'gpt-5.5', input: 'Hi' });
  await until(async () => ((await usageOf(proxy))['total'] as JsonObject)['cancelled'] === 1);
  const counts = counted(6, {
    requests: 8,
    errors: { ...NO_ERRORS, client: 1, upstream: 1 },
    cancelled: 1,
  });
  const own = await usageOf(proxy, '?bucket_width=1d');
  const keyId = own['api_key_id'];
  expect(own).toEqual({
    object: 'usage',
    api_key_id: expect.any(String),
    recorded_since: null,
    limits: [],
    bucket_width: '1d',
    start_time: expect.any(Number),
    end_time: expect.any(Number),
    total: { ...counts, latency: LATENCY },
    windows: ['5h', '24h', '7d', '30d'].map((window) => ({
      window,
      start_time: expect.any(Number),
      end_time: expect.any(Number),
      ...counts,
    })),
    by_model: expect.any(Array),
    by_client: expect.any(Array),
    data: expect.any(Array),
  });
  expect((own['data'] as readonly JsonObject[]).length).toBeGreaterThanOrEqual(7);

  const page = await admin.admin.organization.usage.completions({
    start_time: FIRST_DAY,
    end_time: FIRST_DAY + 2 * DAY,
    group_by: ['api_key_id', 'model'],
  });
  const results = addedByKey(page.data.flatMap((bucket) => bucket.results));
  const result = (answers: number, requests: number, key: unknown) => ({
    object: 'organization.usage.completions.result',
    input_tokens: answers * HELLO_USAGE.inputTokens,
    output_tokens: answers * HELLO_USAGE.outputTokens,
    input_cached_tokens: answers * HELLO_USAGE.cachedInputTokens,
    input_cache_write_tokens: answers * HELLO_USAGE.cacheWriteInputTokens,
    input_audio_tokens: 0,
    output_audio_tokens: 0,
    num_model_requests: requests,
    project_id: null,
    user_id: null,
    api_key_id: key,
    model: 'gpt-5.5',
    batch: null,
    service_tier: null,
    api_source: null,
  });
  expect(results).toHaveLength(2);
  expect(results).toEqual(expect.arrayContaining([result(6, 7, keyId), result(1, 1, expect.any(String))]));
  const bucket = (start: number) => ({
    object: 'bucket',
    start_time: start,
    end_time: start + DAY,
    results: expect.any(Array),
  });
  expect(page).toEqual({
    object: 'page',
    data: [bucket(FIRST_DAY), bucket(FIRST_DAY + DAY)],
    has_more: false,
    next_page: null,
  });

  const summary = (await (await proxy.get('/v1/codex/usage/summary?bucket_width=1h')).json()) as JsonObject;
  expect([
    summary['api_key_id'],
    (summary['by_key'] as readonly JsonObject[]).length,
    summary['total'],
  ]).toEqual([
    null,
    2,
    {
      ...counted(7, { requests: 9, errors: { ...NO_ERRORS, client: 1, upstream: 1 }, cancelled: 1 }),
      latency: LATENCY,
    },
  ]);
}, 60_000);

describe("in OpenAI's form", () => {
  it('is read page by page', async () => {
    const start = FIRST_DAY - 3 * DAY;
    const starts: number[] = [];
    const results: number[] = [];
    let page: string | null = null;
    do {
      const answer: OpenAI.Admin.Organization.UsageCompletionsResponse =
        await admin.admin.organization.usage.completions({
          start_time: start + 3_601,
          end_time: start + 5 * DAY,
          limit: 2,
          ...(page === null ? {} : { page }),
        });
      for (const bucket of answer.data) {
        starts.push((bucket.start_time - start) / DAY);
        results.push(bucket.results.length);
      }
      page = answer.next_page;
    } while (page !== null);
    // The first bucket begins with the hour of the asked time.
    expect(starts).toEqual([1 / 24, 1, 2, 3, 4]);
    expect(results.slice(0, 3)).toEqual([0, 0, 0]);
    expect(results.slice(3)).toContain(1);
  });

  it('names what is wrong', async () => {
    const answer = await proxy.get('/v1/organization/usage/completions?start_time=1&user_ids=u');
    expect([answer.status, await answer.json()]).toEqual([
      400,
      {
        error: {
          message: "Unsupported parameter: 'user_ids'. This server has no projects and no users.",
          type: 'invalid_request_error',
          param: 'user_ids',
          code: 'unsupported_parameter',
        },
      },
    ]);
  });
});

it('is written when the server stops', async () => {
  const PROXY_STATE_DIR = await mkdtemp(path.join(tmpdir(), 'usage-test-'));
  onTestFinished(() => rm(PROXY_STATE_DIR, { recursive: true, force: true }));
  const first = await startProxy(hello, { PROXY_STATE_DIR });
  await first.openai.responses.create({ model: 'gpt-5.5', input: 'Hi' });
  await first.close();
  const second = await started(hello, { PROXY_STATE_DIR });
  expect((await usageOf(second))['total']).toEqual({ ...counted(1), latency: LATENCY });
});

it('is kept in memory by a server that stores nothing', async () => {
  const off = await started(hello, { PROXY_STORE: 'off' });
  await off.openai.responses.create({ model: 'gpt-5.5', input: 'Hi' });
  const own = await usageOf(off);
  expect([own['recorded_since'], own['total']]).toEqual([
    expect.any(Number),
    { ...counted(1), latency: LATENCY },
  ]);
});

it.each([
  ['cancelled', {}],
  ['failed', { PROXY_BACKGROUND_QUEUE_TIMEOUT_MS: '100' }],
])('counts a background response that never ran as %s', async (how, env) => {
  const busy = await started(hangs, { PROXY_MAX_CONCURRENT_TURNS: '1', ...env });
  const { openai } = busy;
  const running = await inBackground(openai);
  await until(async () => (await openai.responses.retrieve(running.id)).status === 'in_progress');
  const waiting = await inBackground(openai);
  if (how === 'cancelled') await openai.responses.cancel(waiting.id);
  await whenEnded(openai, waiting.id);
  await openai.responses.cancel(running.id);
  await until(async () => ((await usageOf(busy))['total'] as JsonObject)['requests'] === 2);
  expect((await usageOf(busy))['total']).toMatchObject({
    requests: 2,
    errors: { ...NO_ERRORS, server: how === 'failed' ? 1 : 0 },
    cancelled: how === 'failed' ? 1 : 2,
    latency: { duration_ms: { mean: null } },
  });
  const ended = busy.log.filter(({ msg }) => msg === 'background response');
  expect(
    ended.filter(({ errorCode }) => errorCode === 'server_overloaded').map(({ status }) => status),
  ).toEqual(how === 'failed' ? [503] : []);
});

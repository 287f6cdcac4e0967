import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { requestStore } from '../../src/features/request-log/store.ts';
import { stateStoreOf } from '../../src/features/state/store/state-store.ts';
import { usageStore } from '../../src/features/usage/store.ts';
import { partOf } from '../../src/store/part.ts';
import { listRoutes } from '../../scripts/pages/http-api.ts';
import { textIn, type JsonObject } from '../../src/kit/json/json.ts';
import { systemAmbient } from '../../src/kit/ambient.ts';
import { NO_SPANS, requestEnd } from '../../src/observe/request-end.ts';
import { mintRecordId, recordOf, requestRowOf } from '../../src/features/request-log/record.ts';
import { conversationBody } from '../../src/features/state/stored-turn.ts';
import { openStore } from '../../src/compose/open-store.ts';
import { openSocket } from '../support/client-socket.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { otelEnvironment } from '../support/otel-environment.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { sharedPostgres } from '../support/postgres.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello } from '../support/scripts.ts';
import { usageRow } from '../support/usage-rows.ts';
import { inBackground, whenEnded } from './background-ask.ts';

/** The owner of a configured key's rows is a plain hash of the key, with which keys can be tried out: no client may see it. */

const KEY = 'sk-test-key-0123456789';
const ownerOf = (key: string): string =>
  `key_${createHash('sha256').update(`key-id:${key}`).digest('hex').slice(0, 8)}`;
const OWNER = ownerOf(KEY);
/** A key that was removed from the settings. */
const GONE = ownerOf('sk-earlier-key');
const DAY_MS = 86_400_000;

const databaseUrl = await (await sharedPostgres()).createDatabase();
const captures = await mkdtemp(path.join(tmpdir(), 'key-ids-'));
afterAll(() => rm(captures, { recursive: true, force: true }));
const receiver = await startOtlpReceiver();
afterAll(() => receiver.close());
otelEnvironment({
  OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '50',
});

/** What a server of an earlier version has written. */
const writeEarlierRows = async (): Promise<void> => {
  const { clock } = systemAmbient;
  const store = stateStoreOf(await openStore({ databaseUrl, file: '', keys: [], timeoutMs: 30_000, clock }));
  const [now, expiresAt] = [clock.now(), clock.now() + DAY_MS];
  for (const [owner, name] of [
    [OWNER, 'old'],
    [GONE, 'gone'],
  ] as const) {
    await store.conversations.create({
      id: `conv_${name}`,
      owner,
      createdAt: now,
      expiresAt,
      body: conversationBody({ name }),
      cacheKey: 'c'.repeat(32),
      turn: null,
    });
    const hour = Math.floor(now / 3_600_000) * 3_600_000;
    await partOf(store, usageStore).put([usageRow(`usage-${name}`, { keyId: owner, hour, expiresAt })]);
    const request = {
      requestId: `earlier-${name}`,
      method: 'POST',
      route: '/v1/responses',
      startedAt: now,
      backgroundId: null,
    };
    const end = requestEnd(request, { keyId: owner, model: 'gpt-5.5', status: 200 }, 0);
    const record = recordOf(end, { id: mintRecordId(systemAmbient, now), instance: 'earlier' });
    await partOf(store, requestStore).add([requestRowOf({ record, spans: NO_SPANS }, expiresAt)]);
  }
  await store.close();
};

await writeEarlierRows();
const env = {
  PROXY_DATABASE_URL: databaseUrl,
  PROXY_CAPTURE_DIR: captures,
  PROXY_KEY_STORAGE_MB: '1',
};
const proxy = await openProxy(hello, env);
const fresh = freshProxies();

const json = async (of: TestProxy, at: string): Promise<JsonObject> =>
  (await (await of.get(at)).json()) as JsonObject;
const listed = async (of: TestProxy, at: string): Promise<readonly JsonObject[]> =>
  (await json(of, at))['data'] as readonly JsonObject[];

/** The text of an answer; of a stream that does not end, as far as it goes at once. */
const textOf = async ({ body, headers }: Response, isEndless: boolean): Promise<string> => {
  const parts = [JSON.stringify([...headers])];
  if (body === null) return parts.join('');
  const text = new TextDecoder();
  for await (const part of body) {
    parts.push(text.decode(part as Uint8Array, { stream: true }));
    if (isEndless) break;
  }
  return parts.join('');
};

/** Uses the server in every way that stores or shows something, and returns the ids of what there is. */
const useEverything = async (): Promise<Readonly<Record<string, string>>> => {
  const { openai } = proxy;
  const ask = { model: 'gpt-5.5', input: 'Hi' };
  const messages = [{ role: 'user' as const, content: 'Hi' }];
  const response = await openai.responses.create(ask);
  await whenEnded(openai, (await inBackground(openai)).id);
  const stream = await openai.responses.create({ ...ask, stream: true });
  for await (const event of stream) void event;
  const { id: chat } = await openai.chat.completions.create({ model: 'gpt-5.5', messages, store: true });
  const conversation = await openai.conversations.create({});
  await openai.responses.create({ ...ask, conversation: conversation.id });
  const socket = await openSocket(proxy);
  await socket.create(ask);
  socket.ws.close();
  await proxy.post('/v1/messages', { model: 'gpt-5.5', max_tokens: 100, messages });
  await proxy.post('/v1/responses', { ...ask, input: 5 });
  await proxy.post('/v1/responses', { ...ask, previous_response_id: 'resp_unknown' });
  const key = (await (
    await proxy.post('/v1/codex/keys', { name: 'reader', scopes: ['infer', 'read'] })
  ).json()) as { readonly id: string; readonly key: string };
  return { response: response.id, conversation: conversation.id, chat, key: key.id, secret: key.key };
};

const used = await useEverything();

/** Every GET route with the ids that there are, and the lists once more for the key itself. */
const addresses = (): readonly string[] => {
  const { response, conversation, chat, key } = used;
  const ids = (at: string): readonly (string | undefined)[] => {
    if (at.startsWith('/v1/codex/conversations')) return [conversation, 'conv_old', 'conv_gone'];
    if (at.startsWith('/v1/conversations')) return [conversation, 'conv_old'];
    if (at.startsWith('/v1/chat')) return [chat];
    if (at.startsWith('/v1/codex/keys')) return [key, OWNER];
    return at.startsWith('/v1/codex/requests') ? [response, 'earlier-old', 'earlier-gone'] : [response];
  };
  const routes = listRoutes().filter(({ method }) => method === 'GET');
  const filled = routes.flatMap(({ path: at }) =>
    at.includes('{id}') ? ids(at).map((id) => at.replace('{id}', id ?? '')) : [at],
  );
  const start = Math.floor(Date.now() / 1000) - 86_400;
  return [
    ...filled,
    `/v1/organization/usage/completions?start_time=${start}&group_by=api_key_id`,
    '/v1/codex/requests?status=running',
    '/v1/codex/requests?status=failed',
  ];
};

it('is in no answer that a key with read can get', async () => {
  const asked = addresses();
  expect(asked.length).toBeGreaterThan(40);
  for (const key of [KEY, used['secret'] ?? '']) {
    for (const at of asked) {
      const answer = await proxy.send(at, { headers: { authorization: `Bearer ${key}` } });
      const text = await textOf(answer, at.endsWith('/live'));
      const isShown = text.includes(OWNER) || text.includes(GONE);
      expect([at, answer.status < 500, isShown]).toEqual([at, true, false]);
    }
  }
});

it('is in no event of the live feed', async () => {
  const feed = await proxy.get('/v1/codex/requests/live');
  const asking = proxy.openai.responses.create({ model: 'gpt-5.5', input: 'Watch me' });
  const text = new TextDecoder();
  let seen = '';
  for await (const part of feed.body ?? []) {
    seen += text.decode(part as Uint8Array, { stream: true });
    if (seen.includes('request.ended')) break;
  }
  await asking;
  expect(seen).toMatch(/"key":\{"id":"key_[\w-]{22}"/);
  expect(seen).not.toContain(OWNER);
});

it('is in no log line, span, metric or capture', async () => {
  const [{ key } = {}] = await listed(proxy, '/v1/codex/requests?limit=1');
  const { id } = key as unknown as { readonly id: string };
  await expect.poll(() => receiver.bytes().includes(id)).toBe(true);
  expect(receiver.bytes().includes(OWNER)).toBe(false);
  const log = JSON.stringify(proxy.log);
  expect([log.includes(id), log.includes(OWNER)]).toEqual([true, false]);
  const files = (await readdir(captures, { recursive: true, withFileTypes: true })).filter((one) =>
    one.isFile(),
  );
  expect(files.length).toBeGreaterThan(0);
  for (const { parentPath, name } of files) {
    expect((await readFile(path.join(parentPath, name))).includes(OWNER)).toBe(false);
  }
});

/** The ids by which a server knows the two keys, and what it finds with them. */
const found = async (of: TestProxy) => {
  const start = Math.floor(Date.now() / 1000) - 86_400;
  const idOf = async (name: string): Promise<string> =>
    textIn(await json(of, `/v1/codex/conversations/conv_${name}`), 'key_id');
  const counts = async (id: string) => {
    const usage = await listed(
      of,
      `/v1/organization/usage/completions?start_time=${start}&api_key_ids=${id}`,
    );
    const results = usage.flatMap(({ results: some }) => some as readonly JsonObject[]);
    const requests = await listed(of, `/v1/codex/requests?limit=100&model=gpt-5.5&key=${id}`);
    const conversations = await listed(of, `/v1/codex/conversations?limit=100&key_id=${id}`);
    return {
      usage: results.reduce((sum, { num_model_requests: one }) => sum + Number(one), 0),
      requests: requests.map((one) => textIn(one, 'request_id')),
      conversations: conversations.map((one) => textIn(one, 'id')),
    };
  };
  const [own, gone] = [await idOf('old'), await idOf('gone')];
  return { ids: [own, gone], own: await counts(own), gone: await counts(gone) };
};

it('is replaced by an id that finds rows of now and of earlier versions, on every server of a database', async () => {
  const here = await found(proxy);
  expect(here.ids[0]).toBe((await json(proxy, '/v1/usage'))['api_key_id']);
  expect(here.gone).toEqual({ usage: 1, requests: ['earlier-gone'], conversations: ['conv_gone'] });
  expect(here.own.requests).toContain('earlier-old');
  expect(here.own.requests.length).toBeGreaterThan(5);
  expect(here.own.conversations).toEqual(expect.arrayContaining(['conv_old', used['conversation']]));
  // Another state directory: the secret comes from the database.
  const other = await fresh(hello, { PROXY_DATABASE_URL: databaseUrl });
  const there = await found(other);
  expect(there.ids).toEqual(here.ids);
  expect(there.gone).toEqual(here.gone);
  expect(there.own.conversations).toEqual(here.own.conversations);
  expect(there.own.requests).toEqual(expect.arrayContaining([...here.own.requests]));
  // What the key stored is its own there, too.
  expect(await other.openai.responses.retrieve(used['response'] ?? '')).toMatchObject({
    status: 'completed',
  });
  expect(await other.openai.conversations.retrieve('conv_old')).toMatchObject({ id: 'conv_old' });
});

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { describe, expect, it, onTestFinished } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { ANSWER, QUESTION, threeRounds, weatherIn } from '../clients/rounds.ts';
import { freshProxies, openProxy } from '../support/open-proxy.ts';
import { sharedPostgres } from '../support/postgres.ts';
import type { TestProxy } from '../support/proxy.ts';
import { cutMidStream } from '../support/scripts.ts';
import { collectSse, eventsOf } from '../support/sse.ts';
import { sentBody, sentItems } from './responses-sent.ts';

/** Threads: the store keeps the conversation, and clients send what is new. */

const KEYS = ['sk-test-key-0123456789', 'sk-other-key-0123456789'] as const;
const proxy = await openProxy(threeRounds, { PROXY_API_KEY: KEYS.join(',') });
const fresh = freshProxies();

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
} as const;
const WEATHER = { name: 'get_weather', description: 'The weather in a city.' };
const weather = betaTool({ ...WEATHER, inputSchema: SCHEMA, run: ({ city }) => weatherIn(city) });
const ASK = { model: 'gpt-5.5', max_tokens: 1_000, system: 'Be brief.' };
const TOOLS = [{ ...WEATHER, input_schema: SCHEMA }];
const FIRST = {
  ...ASK,
  tools: TOOLS,
  messages: [{ role: 'user', content: QUESTION }],
  thread: { type: 'create' },
};
const { system: _, ...CONTINUED } = ASK;
const resultOf = (id: string, city: string): JsonObject => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: weatherIn(city) }],
});

interface Sent {
  readonly fields: readonly string[];
  readonly thread: unknown;
  readonly messages: number;
  readonly status: number;
}

/** Runs the tools of the SDK, and says what it sent. */
const run = async ({ url, key }: Pick<TestProxy, 'url' | 'key'>, stream: boolean) => {
  const sent: Sent[] = [];
  const client = new Anthropic({
    baseURL: url,
    apiKey: key,
    maxRetries: 0,
    async fetch(input, init) {
      const response = await fetch(input, init);
      const { thread, messages, tools, system } = JSON.parse(init?.body as string) as JsonObject;
      const fields = Object.keys({ ...(tools ? { tools } : {}), ...(system ? { system } : {}) });
      sent.push({
        fields,
        thread,
        messages: (messages as readonly unknown[]).length,
        status: response.status,
      });
      return response;
    },
  });
  const messages = [{ role: 'user' as const, content: QUESTION }];
  const runner = client.beta.messages.toolRunner({ ...ASK, messages, tools: [weather], stream });
  const last = await runner.runUntilDone();
  return { sent, content: last.content };
};

const ANSWERED = [{ type: 'text', text: ANSWER }];

/** The last model request, without what codex names anew in every turn. */
const modelRequest = ({ model }: TestProxy): object => {
  const { client_metadata: __, input: ___, ...body } = sentBody(model);
  return body;
};

const refused = async (body: JsonObject, key: string = KEYS[0]): Promise<unknown> => {
  const headers = { authorization: `Bearer ${key}` };
  const response = await proxy.post('/v1/messages', { ...CONTINUED, ...body }, { headers });
  const { error } = (await response.json()) as { readonly error: JsonObject };
  return [response.status, error];
};

const begin = async (at: TestProxy = proxy): Promise<string> => {
  const response = await at.post('/v1/messages', FIRST);
  expect(response.status).toBe(200);
  return ((await response.json()) as { readonly id: string }).id;
};

const continues = (id: string, more: JsonObject = {}): JsonObject => ({
  messages: [resultOf('call_paris', 'Paris')],
  thread: { type: 'continue', previous_message_id: id },
  ...more,
});

describe("the SDK's tool runner", () => {
  it.each([false, true])('sends only the results of tools (stream: %s)', async (stream) => {
    const before = proxy.model.requests.length;
    const { sent, content } = await run({ url: proxy.url, key: KEYS[0] }, stream);
    expect(content).toMatchObject(ANSWERED);
    expect(sent).toEqual([
      { fields: ['tools', 'system'], thread: { type: 'create' }, messages: 1, status: 200 },
      {
        fields: [],
        thread: { type: 'continue', previous_message_id: expect.any(String) as string },
        messages: 1,
        status: 200,
      },
      {
        fields: [],
        thread: { type: 'continue', previous_message_id: expect.any(String) as string },
        messages: 1,
        status: 200,
      },
    ]);
    const requests = proxy.model.requests.slice(before);
    const inputs = requests.map(({ body }) => body['input'] as readonly unknown[]);
    for (const [index, input] of inputs.slice(1).entries()) {
      const earlier = inputs[index] ?? [];
      expect(input.slice(0, earlier.length)).toEqual(earlier);
    }
    expect(
      new Set(
        requests.map(({ body }) =>
          JSON.stringify([body['tools'], body['instructions'], body['prompt_cache_key']]),
        ),
      ).size,
    ).toBe(1);
  });

  it('sends everything if nothing is stored', async () => {
    const off = await fresh(threeRounds, { PROXY_STORE: 'off' });
    const { sent, content } = await run(off, false);
    expect(content).toMatchObject(ANSWERED);
    expect(sent.map(({ thread, messages, status }) => [thread, messages, status])).toEqual([
      [{ type: 'create' }, 1, 400],
      [undefined, 1, 200],
      [undefined, 3, 200],
      [undefined, 5, 200],
    ]);
    const response = await off.post('/v1/messages', FIRST);
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            'thread: this server stores nothing (PROXY_STORE=off). Send the whole conversation without it.',
          details: { error_code: 'thread_unsupported_request', unsupported: ['store'] },
        },
        request_id: expect.any(String) as string,
      },
    ]);
  });
});

describe('a thread', () => {
  it('is unknown to other keys and APIs', async () => {
    const id = await begin();
    const notFound = (unknown: string) => [
      404,
      {
        type: 'not_found_error',
        message: `Thread with message '${unknown}' not found.`,
        details: { error_code: 'thread_not_found' },
      },
    ];
    expect(await refused(continues(id), KEYS[1])).toEqual(notFound(id));
    expect(await refused(continues('msg_unknown'))).toEqual(notFound('msg_unknown'));
    const { id: responseId } = await proxy.openai.responses.create({ model: 'gpt-5.5', input: 'Hi.' });
    expect(await refused(continues(responseId))).toEqual(notFound(responseId));
    const asResponse = [
      await proxy.get(`/v1/responses/${id}`),
      await proxy.get(`/v1/responses/${id}/input_items`),
      await proxy.send(`/v1/responses/${id}`, { method: 'DELETE' }),
      await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'Hi.', previous_response_id: id }),
    ];
    expect(asResponse.map(({ status }) => status)).toEqual([404, 404, 404, 400]);
    const count = await proxy.post('/v1/messages/count_tokens', { ...CONTINUED, ...continues(id) });
    expect([count.status, await count.json()]).toEqual([200, { input_tokens: expect.any(Number) as number }]);
    expect((await proxy.post('/v1/messages', { ...CONTINUED, ...continues(id) })).status).toBe(200);
  });

  it('rejects another system prompt, other tools and results without a call', async () => {
    const id = await begin();
    const message = (field: string): string =>
      `${field}: a continued thread keeps the ${field} that it was created with. Leave it out, or begin another thread.`;
    expect(await refused(continues(id, { system: 'x' }))).toEqual([
      400,
      { type: 'invalid_request_error', message: message('system') },
    ]);
    expect(await refused(continues(id, { tools: TOOLS }))).toEqual([
      400,
      { type: 'invalid_request_error', message: message('tools') },
    ]);
    const orphan = { messages: [resultOf('call_oslo', 'Oslo')] };
    expect(await refused(continues(id, orphan))).toMatchObject([400, { type: 'invalid_request_error' }]);
  });

  it('is not kept if the answer was cut', async () => {
    proxy.use(cutMidStream);
    const response = await proxy.post('/v1/messages', { ...FIRST, stream: true });
    const [started, ...others] = eventsOf(await collectSse(response)) as readonly JsonObject[];
    proxy.use(threeRounds);
    expect(others.at(-1)).toMatchObject({ type: 'error' });
    const { id } = (started?.['message'] ?? {}) as { readonly id: string };
    const messages = [{ role: 'user', content: 'Go on.' }];
    expect(await refused(continues(id, { messages }))).toMatchObject([
      404,
      { details: { error_code: 'thread_not_found' } },
    ]);
  });

  it.each([['SQLite'], ['PostgreSQL']])('goes on with another instance: %s', async (database) => {
    const PROXY_STATE_DIR = await mkdtemp(path.join(tmpdir(), 'threads-'));
    onTestFinished(() => rm(PROXY_STATE_DIR, { recursive: true, force: true }));
    const env: Readonly<Record<string, string>> =
      database === 'SQLite'
        ? { PROXY_STATE_DIR }
        : { PROXY_DATABASE_URL: await (await sharedPostgres()).createDatabase() };
    // At another address it would be another backend, which cannot read the reasoning.
    const { baseUrl: PROXY_UPSTREAM_BASE_URL } = proxy.model;
    const start = (): Promise<TestProxy> => fresh(threeRounds, { ...env, PROXY_UPSTREAM_BASE_URL });
    proxy.use(threeRounds);
    const one = await start();
    const id = await begin(one);
    if (database === 'SQLite') await one.close();
    const other = await start();
    const response = await other.post('/v1/messages', { ...CONTINUED, ...continues(id) });
    const { content } = (await response.json()) as { readonly content: readonly JsonObject[] };
    expect(content.map(({ type, name }) => [type, name])).toEqual([
      ['tool_use', 'get_weather'],
      ['tool_use', 'get_weather'],
    ]);
    expect(sentItems(proxy.model).map(({ type }) => type)).toEqual([
      'message',
      'message',
      'reasoning',
      'function_call',
      'function_call_output',
    ]);
    expect(modelRequest(proxy)).toMatchObject({ tools: [{ name: 'get_weather' }] });
  });
});

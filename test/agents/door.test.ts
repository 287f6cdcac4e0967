import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, describe, expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hang, hello, http400, says } from '../support/scripts.ts';
import { sentBody } from '../conformance/responses-sent.ts';
import { until } from '../support/until.ts';

const proxy = await openProxy(hello);

const clients: Client[] = [];
afterAll(async () => {
  for (const client of clients) await client.close();
});

const connect = async (key = proxy.key): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${proxy.url}/mcp`), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    }),
  );
  clients.push(client);
  return client;
};

const makeKey = async (fields: object): Promise<string> => {
  const made = (await (await proxy.post('/v1/codex/keys', fields)).json()) as { readonly key: string };
  return made.key;
};

/** In the log of requests, which has those that run turns. */
const lastRequest = async (): Promise<JsonObject | undefined> => {
  const listed = (await (await proxy.get('/v1/codex/requests?limit=1')).json()) as {
    readonly data: readonly JsonObject[];
  };
  return listed.data[0];
};

describe('ask', () => {
  it('answers with text, and is a request of the Responses API in the log', async () => {
    proxy.use(hello);
    const client = await connect();
    const answer = await client.callTool({
      name: 'ask',
      arguments: { prompt: 'Hi', model: 'gpt-5.5', effort: 'low', instructions: 'Be brief.' },
    });
    expect(answer).toEqual({
      content: [{ type: 'text', text: 'Hello from the scripted model.' }],
      structuredContent: { content: 'Hello from the scripted model.', model: 'gpt-5.5' },
    });
    expect(sentBody(proxy.model)).toMatchObject({
      model: 'gpt-5.5',
      reasoning: { effort: 'low' },
      instructions: expect.stringContaining('Be brief.'),
    });
    await expect.poll(lastRequest).toMatchObject({
      method: 'POST',
      route: '/v1/responses',
      model: 'gpt-5.5',
      status: 200,
      outcome: 'completed',
    });
  });

  it('has the default model, and reports what the backend refuses', async () => {
    proxy.use(hello);
    const client = await connect();
    expect(await client.callTool({ name: 'ask', arguments: { prompt: 'Hi' } })).toMatchObject({
      structuredContent: { model: 'codex-5' },
    });
    proxy.use(http400());
    expect(await client.callTool({ name: 'ask', arguments: { prompt: 'Hi' } })).toEqual({
      content: [{ type: 'text', text: "Invalid value: 'purple'." }],
      isError: true,
    });
  });

  it('counts for the limits and the usage of its key', async () => {
    proxy.use(hello);
    const key = await makeKey({ name: 'limited', limits: [{ unit: 'requests', window: 'day', max: 1 }] });
    const client = await connect(key);
    expect(await client.callTool({ name: 'ask', arguments: { prompt: 'Hi' } })).not.toHaveProperty('isError');
    expect(await client.callTool({ name: 'ask', arguments: { prompt: 'Hi' } })).toEqual({
      content: [{ type: 'text', text: expect.stringMatching(/limit/) }],
      isError: true,
    });
    const headers = { authorization: `Bearer ${key}` };
    const usage = (await (await fetch(`${proxy.url}/v1/usage`, { headers })).json()) as { total: JsonObject };
    expect(usage.total).toMatchObject({ requests: 2, errors: { limit: 1 } });
  });

  it('ends its turn if the client cancels it', async () => {
    proxy.use(hang);
    const client = await connect();
    const before = proxy.model.requests.length;
    const stop = new AbortController();
    const called = client.callTool({ name: 'ask', arguments: { prompt: 'Hi' } }, undefined, {
      signal: stop.signal,
    });
    const reason = called.then(() => 'it was answered', String);
    await until(() => proxy.model.requests.length > before);
    stop.abort('enough');
    expect(await reason).toContain('enough');
    await expect.poll(lastRequest).toMatchObject({ route: '/v1/responses', status: 499 });
  });
});

it('review returns the findings of the reviewer', async () => {
  const review = {
    findings: [{ title: '[P1] Off by one', body: 'The last element is never read.' }],
    overall_correctness: 'patch is incorrect',
    overall_explanation: 'It leaves the last element out.',
    overall_confidence_score: 0.8,
  };
  proxy.use(says([{ text: JSON.stringify(review) }]));
  const client = await connect();
  expect(
    await client.callTool({ name: 'review', arguments: { input: '+i < n - 1', model: 'gpt-5.5' } }),
  ).toEqual({
    content: [{ type: 'text', text: expect.stringContaining('Off by one') }],
    structuredContent: review,
  });
  expect(JSON.stringify(sentBody(proxy.model)['input'])).toContain('Review guidelines');
});

it('needs a key, which may only be one with the scope infer', async () => {
  const ping = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
  const without = await fetch(`${proxy.url}/mcp`, ping);
  expect([without.status, await without.json()]).toMatchObject([401, { error: { code: 'invalid_api_key' } }]);
  const key = await makeKey({ name: 'reader', scopes: ['read'] });
  const headers = { authorization: `Bearer ${key}` };
  expect((await fetch(`${proxy.url}/mcp`, { ...ping, headers })).status).toBe(403);
});

it('web pages with an allowed origin can read the session', async () => {
  const headers = { origin: 'http://localhost:3000', authorization: `Bearer ${proxy.key}` };
  const body =
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}';
  const answer = await fetch(`${proxy.url}/mcp`, { method: 'POST', headers, body });
  expect(answer.headers.get('access-control-expose-headers')).toContain('mcp-session-id');
});

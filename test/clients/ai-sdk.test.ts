import { createOpenAI } from '@ai-sdk/openai';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { startProxy } from '../support/proxy.ts';
import { inTurn, says } from '../support/scripts.ts';
import { addsUp, SUM } from './adding.ts';
import { asksForRows, ROWS, runSql } from './custom.ts';
import { FOUND, searches, SOURCE } from './hosted.ts';
import { ANSWER, itemsOf, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** Vercel's AI SDK in several steps, with the real app-server. */

const shop = await startHttpMcp();
const proxy = await startProxy(threeRounds, {
  PROXY_MCP_CLIENT_SERVERS: 'true',
  PROXY_MCP_CLIENT_PRIVATE: 'true',
});
afterAll(async () => {
  await proxy.close();
  await shop.close();
});
const provider = createOpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });

const tools = {
  get_weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => weatherIn(city),
  }),
};

describe.each(['responses', 'chat'] as const)('%s', (api) => {
  const ask = { model: provider[api]('gpt-5.5'), prompt: QUESTION, tools, stopWhen: isStepCount(5) };

  it('completes as JSON', async () => {
    const { text, steps } = await generateText(ask);
    expect(text).toBe(ANSWER);
    expect(steps.map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
    expect(keepsThought(proxy.model.requests.map(({ body }) => body))).toBe(true);
  });

  it('completes as a stream', async () => {
    const { text, steps } = streamText(ask);
    expect(await text).toBe(ANSWER);
    expect((await steps).map(({ toolCalls }) => toolCalls.length)).toEqual([1, 2, 0]);
  });
});

type Ask = Parameters<typeof generateText>[0] & Parameters<typeof streamText>[0];

/** Used if hosted items are sent back: with `store` this SDK would only send their ids. */
const STATELESS = {
  model: provider.responses('gpt-5.5'),
  prompt: QUESTION,
  providerOptions: { openai: { store: false } },
  stopWhen: isStepCount(5),
};

/** The input of every request that reached the model. */
const sent = () => proxy.model.requests.map(({ body }) => itemsOf(body));

/** The steps of the same request as JSON and as a stream. */
const bothWays = async (ask: Ask) => [(await generateText(ask)).steps, await streamText(ask).steps];

describe('a search that the backend runs', () => {
  const ask = {
    model: provider.responses('gpt-5.5'),
    prompt: QUESTION,
    tools: { web_search: provider.tools.webSearch({ searchContextSize: 'low' }) },
  };

  it('returns its sources, as JSON and as a stream', async () => {
    proxy.use(searches);
    const whole = await generateText(ask);
    const streamed = streamText(ask);
    for (const [text, sources, calls] of [
      [whole.text, whole.sources, whole.toolCalls],
      [await streamed.text, await streamed.sources, await streamed.toolCalls],
    ] as const) {
      expect(text).toBe(FOUND);
      expect(sources).toMatchObject([{ sourceType: 'url', url: SOURCE }]);
      expect(calls).toMatchObject([{ toolName: 'web_search', providerExecuted: true }]);
    }
    expect(proxy.model.requests.at(-1)?.body['tools']).toEqual([
      { type: 'web_search', search_context_size: 'low' },
    ]);
  });
});

const { image, 'file search': fileSearch, 'code interpreter': interpreter } = HOSTED_ITEMS;
const [found] = fileSearch.ended.results;

it.each([
  [
    'draws',
    image,
    { image_generation: provider.tools.imageGeneration({ outputFormat: 'png' }) },
    { type: 'image_generation', output_format: 'png' },
    { result: image.ended.result },
  ],
  [
    'runs code',
    interpreter,
    { code_interpreter: provider.tools.codeInterpreter() },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { outputs: interpreter.ended.outputs },
  ],
  [
    'searches files',
    fileSearch,
    { file_search: provider.tools.fileSearch({ vectorStoreIds: ['vs_1'] }) },
    { type: 'file_search', vector_store_ids: ['vs_1'] },
    { queries: ['rain'], results: [{ fileId: found.file_id, text: found.text }] },
  ],
] as const)('the backend %s, and the result is visible', async (_, item, hosted, declared, output) => {
  proxy.use(says([hostedStep(item), { text: 'Done.' }]));
  const [name] = Object.keys(hosted);
  for (const steps of await bothWays({ ...STATELESS, tools: hosted })) {
    expect(steps).toMatchObject([{ text: 'Done.' }]);
    expect(steps[0]?.toolCalls).toMatchObject([{ toolName: name, providerExecuted: true }]);
    // In a stream it may follow partial images, which are separate results here.
    expect(steps[0]?.toolResults.at(-1)).toMatchObject({ toolName: name, providerExecuted: true, output });
  }
  expect(proxy.model.requests.at(-1)?.body['tools']).toEqual([declared]);
});

it('searches of the backend are sent back with the next step', async () => {
  const call = { name: 'get_weather', arguments: { city: 'Paris' }, callId: 'call_paris' };
  const search = hostedStep(HOSTED_ITEMS['web search']);
  const inTwo = [says([search, { call }]), says([{ text: 'Done.' }])] as const;
  proxy.use(inTurn(...inTwo, ...inTwo));
  const ask = { ...STATELESS, tools: { ...tools, web_search: provider.tools.webSearch() } };
  for (const steps of await bothWays(ask)) expect(steps.map(({ text }) => text)).toEqual(['', 'Done.']);
  const later = sent().filter((items) => items.some(({ type }) => type === 'function_call_output'));
  for (const items of later.slice(-2)) {
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'web_search_call',
      'function_call',
      'function_call_output',
    ]);
    expect(items[1]).toMatchObject({ id: 'ws_1', action: { query: 'q' } });
  }
});

it('a custom tool completes', async () => {
  proxy.use(asksForRows);
  const custom = { ...provider.tools.customTool({ description: 'Runs SQL.' }), execute: runSql };
  for (const steps of await bothWays({ ...STATELESS, tools: { run_sql: custom } })) {
    expect(steps.map(({ text }) => text)).toEqual(['', ROWS]);
  }
});

it('an MCP server is called, and the result is visible', async () => {
  proxy.use(addsUp);
  const mcp = provider.tools.mcp({ serverLabel: 'shop', serverUrl: shop.url, requireApproval: 'never' });
  for (const steps of await bothWays({ ...STATELESS, tools: { mcp } })) {
    expect(steps).toMatchObject([{ text: SUM }]);
    expect(steps[0]?.toolResults).toMatchObject([
      { toolName: 'mcp.add', providerExecuted: true, output: { serverLabel: 'shop', output: '5' } },
    ]);
  }
});

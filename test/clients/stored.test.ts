import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createOpenAI } from '@ai-sdk/openai';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, OpenAIResponsesModel, Runner, tool as agentTool } from '@openai/agents';
import { generateText, isStepCount, streamText, tool, type ModelMessage } from 'ai';
import { zodTextFormat } from 'openai/helpers/zod';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { freshProxies, openProxy } from '../support/open-proxy.ts';
import type { TestProxy } from '../support/proxy.ts';
import { hello, says } from '../support/scripts.ts';
import { collect } from '../support/turn-events.ts';
import { ANSWER, itemsOf, keepsThought, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** Clients that leave the conversation to the server. */

const proxy = await openProxy(threeRounds);
const { openai } = proxy;

const MODEL = 'gpt-5.5';
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const WEATHER = { type: 'function', name: 'get_weather', parameters, strict: false } as const;

/** The bodies that the client sent to the model, and those that reached it. */
const sent = () => proxy.model.requests.map(({ body }) => body);

describe("OpenAI's SDK", () => {
  it.each([false, true])('runs tools by previous_response_id (stream: %s)', async (stream) => {
    proxy.use(threeRounds);
    let response = await openai.responses.create({ model: MODEL, input: QUESTION, tools: [WEATHER] });
    const uploads: number[] = [];
    for (;;) {
      const input = response.output.flatMap((item) =>
        item.type === 'function_call'
          ? [
              {
                type: 'function_call_output' as const,
                call_id: item.call_id,
                output: weatherIn((JSON.parse(item.arguments) as { city: string }).city),
              },
            ]
          : [],
      );
      if (input.length === 0) break;
      uploads.push(input.length);
      const ask = { model: MODEL, input, tools: [WEATHER], previous_response_id: response.id };
      response = stream
        ? await openai.responses.stream(ask).finalResponse()
        : await openai.responses.create(ask);
    }
    expect([response.output_text, uploads]).toEqual([ANSWER, [1, 2]]);
    expect(keepsThought(sent())).toBe(true);
    expect(await openai.responses.retrieve(response.id)).toMatchObject({
      id: response.id,
      output_text: ANSWER,
      usage: response.usage,
    });
    const items = await collect(openai.responses.inputItems.list(response.id, { limit: 2, order: 'asc' }));
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'function_call',
      'function_call_output',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
    ]);
    await openai.responses.delete(response.id);
    await expect(openai.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  });

  it('parses what it retrieves', async () => {
    proxy.use(says([{ text: '{"weather":"rain"}' }]));
    const format = zodTextFormat(z.object({ weather: z.string() }), 'weather');
    const ask = { model: MODEL, input: 'hi', text: { format } };
    const first = await openai.responses.parse(ask);
    expect(first.output_parsed).toEqual({ weather: 'rain' });
    const second = await openai.responses.parse({ ...ask, previous_response_id: first.id });
    expect(second.output_parsed).toEqual({ weather: 'rain' });
    expect((await openai.responses.retrieve(second.id)).output_text).toBe('{"weather":"rain"}');
  });
});

describe('the Agents SDK', () => {
  const runner = new Runner({ tracingDisabled: true });
  const agent = new Agent({
    name: 'weather',
    instructions: 'Be brief.',
    model: new OpenAIResponsesModel(openai, MODEL),
    tools: [
      agentTool({
        name: 'get_weather',
        description: 'The weather of a city.',
        parameters: z.object({ city: z.string() }),
        execute: ({ city }) => weatherIn(city),
      }),
    ],
  });

  it.each([false, true])('continues a run by previousResponseId (stream: %s)', async (stream) => {
    proxy.use(threeRounds);
    const first = await runner.run(agent, QUESTION);
    expect(first.finalOutput).toBe(ANSWER);
    proxy.use(hello);
    const previousResponseId = first.lastResponseId ?? '';
    const asked = 'And tomorrow?';
    if (stream) {
      const run = await runner.run(agent, asked, { previousResponseId, stream });
      await run.completed;
    } else await runner.run(agent, asked, { previousResponseId });
    const items = itemsOf(sent().at(-1) ?? {});
    expect(items.filter(({ role }) => role !== 'developer')).toHaveLength(10);
    expect(items.at(-1)).toMatchObject({ role: 'user' });
  });

  it('sends reasoning back without its content, and the model gets it whole', async () => {
    proxy.use((request, connection) =>
      itemsOf(request.body).some(({ type }) => type === 'function_call_output')
        ? hello(request, connection)
        : says([
            { reasoning: { summary: [], encrypted: 'sealed' } },
            { call: { name: 'get_weather', arguments: { city: 'Paris' } } },
          ])(request, connection),
    );
    await runner.run(agent, QUESTION);
    const reasoning = itemsOf(sent().at(-1) ?? {}).filter(({ type }) => type === 'reasoning');
    expect(reasoning).toMatchObject([{ encrypted_content: 'sealed' }]);
  });

  it('uploads only what is new in each round of one run', async () => {
    proxy.use(hello);
    const { lastResponseId: id = '' } = await runner.run(agent, 'hi');
    proxy.use(threeRounds);
    const run = await runner.run(agent, QUESTION, { previousResponseId: id });
    expect(run.finalOutput).toBe(ANSWER);
    expect(run.rawResponses.map(({ responseId }) => responseId)).toHaveLength(3);
  });
});

describe('the AI SDK', () => {
  const start = freshProxies();
  const folders: string[] = [];
  afterAll(() => Promise.all(folders.map((one) => rm(one, { recursive: true, force: true }))));
  const tools = {
    get_weather: tool({
      description: 'The weather of a city.',
      inputSchema: z.object({ city: z.string() }),
      execute: ({ city }) => weatherIn(city),
    }),
  };

  it.each([false, true])('sends references, also after a restart (stream: %s)', async (stream) => {
    const dir = await mkdtemp(path.join(tmpdir(), 'proxy-stored-'));
    folders.push(dir);
    // At another address it would be another backend, which cannot read the reasoning.
    const env = { PROXY_STATE_DIR: dir, PROXY_UPSTREAM_BASE_URL: proxy.model.baseUrl };
    const uploads: string[] = [];
    const watched: typeof fetch = (url, init) => {
      if (typeof init?.body === 'string') uploads.push(init.body);
      return fetch(url, init);
    };
    const ask = (one: TestProxy, messages: ModelMessage[]) => {
      const provider = createOpenAI({ baseURL: `${one.url}/v1`, apiKey: one.key, fetch: watched });
      const asked = { model: provider.responses(MODEL), messages, tools, stopWhen: isStepCount(5) };
      return stream ? streamText(asked) : generateText(asked);
    };
    const messages: ModelMessage[] = [{ role: 'user', content: QUESTION }];
    proxy.use(threeRounds);
    const first = await start(hello, env);
    const told = await ask(first, messages);
    expect(await told.text).toBe(ANSWER);
    messages.push(...(await told.responseMessages), { role: 'user', content: 'And tomorrow?' });
    await first.close();

    proxy.use(hello);
    const second = await start(hello, env);
    expect(await (await ask(second, messages)).text).toBe('Hello from the scripted model.');
    const items = itemsOf(sent().at(-1) ?? {});
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'reasoning',
      'function_call',
      'function_call_output',
      'function_call',
      'function_call',
      'function_call_output',
      'function_call_output',
      'message',
      'message',
    ]);
    expect(keepsThought(sent().slice(-1))).toBe(true);
    expect(uploads.at(-1)?.match(/"item_reference"/g)).toHaveLength(1);
    expect(uploads.at(-1)).not.toContain('"reasoning"');
  });

  it('continues by previousResponseId', async () => {
    proxy.use(hello);
    const provider = createOpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });
    const model = provider.responses(MODEL);
    const { providerMetadata } = await generateText({ model, prompt: 'one' });
    const previousResponseId = providerMetadata?.['openai']?.['responseId'] as string;
    await generateText({ model, prompt: 'two', providerOptions: { openai: { previousResponseId } } });
    expect(itemsOf(sent().at(-1) ?? {}).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });
});

describe('LangChain', () => {
  it.each([false, true])('continues by previous_response_id (stream: %s)', async (stream) => {
    proxy.use(hello);
    const model = new ChatOpenAI({
      model: MODEL,
      apiKey: proxy.key,
      useResponsesApi: true,
      maxRetries: 0,
      configuration: { baseURL: `${proxy.url}/v1` },
    });
    const first = await model.invoke([new HumanMessage('one')]);
    const previous_response_id = first.response_metadata['id'] as string;
    expect(previous_response_id).toMatch(/^resp_/);
    const next = [new HumanMessage('two')];
    if (stream) await collect(await model.stream(next, { previous_response_id }));
    else await model.invoke(next, { previous_response_id });
    expect(itemsOf(sent().at(-1) ?? {}).map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });
});

import { AIMessageChunk, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import type { ToolCall } from '@langchain/core/messages/tool';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, customTool, tools } from '@langchain/openai';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { startProxy } from '../support/proxy.ts';
import { says } from '../support/scripts.ts';
import { addsUp, SUM } from './adding.ts';
import { asksForRows, ROWS, runSql } from './custom.ts';
import { FOUND, searches, SOURCE } from './hosted.ts';
import { ANSWER, itemsOf, looksThenSaysJson, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** LangChain with the real app-server. */

const shop = await startHttpMcp();
const proxy = await startProxy(threeRounds, {
  PROXY_MCP_CONFIG: mcpFiles().write({ shop: { url: shop.url } }),
});
afterAll(async () => {
  await proxy.close();
  await shop.close();
});

const getWeather = tool(({ city }: { city: string }) => weatherIn(city), {
  name: 'get_weather',
  description: 'The weather of a city.',
  schema: z.object({ city: z.string() }),
});

const weather = (call: ToolCall): Promise<ToolMessage> => getWeather.invoke({ ...call, type: 'tool_call' });

const modelOf = (useResponsesApi: boolean, maxRetries = 0) =>
  new ChatOpenAI({
    model: 'gpt-5.5',
    apiKey: proxy.key,
    useResponsesApi,
    maxRetries,
    configuration: { baseURL: `${proxy.url}/v1` },
  });

type Bound = ReturnType<ReturnType<typeof modelOf>['bindTools']>;

const ask = async (
  model: Bound,
  messages: readonly BaseMessage[],
  stream: boolean,
): Promise<AIMessageChunk> => {
  if (!stream) return model.invoke([...messages]);
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await model.stream([...messages])) whole = whole?.concat(chunk) ?? chunk;
  return whole ?? new AIMessageChunk('');
};

/** Runs the tool until the model no longer calls it, and returns the whole conversation. */
const loop = async (
  model: Bound,
  run: (call: ToolCall) => Promise<ToolMessage>,
  stream: boolean,
): Promise<BaseMessage[]> => {
  const messages: BaseMessage[] = [new HumanMessage(QUESTION)];
  for (;;) {
    const said = await ask(model, messages, stream);
    messages.push(said);
    const calls = said.tool_calls ?? [];
    if (calls.length === 0) return messages;
    for (const call of calls) messages.push(await run(call));
  }
};

describe.each([
  ['responses', true, false],
  ['responses', true, true],
  ['chat', false, false],
  ['chat', false, true],
] as const)('%s', (_, useResponsesApi, stream) => {
  it(`comes to its end (stream: ${stream})`, async () => {
    proxy.use(threeRounds);
    const messages = await loop(modelOf(useResponsesApi).bindTools([getWeather]), weather, stream);
    expect(messages.at(-1)?.text).toBe(ANSWER);
    expect(messages).toHaveLength(7);
  });
});

/**
 * With `response_format` the SDK parses the text of every message; text that is not JSON makes it ask again.
 */
describe.each([false, true])('tools and an object as the answer (stream: %s)', (stream) => {
  const schema = {
    type: 'object',
    properties: { weather: { type: 'string' } },
    required: ['weather'],
    additionalProperties: false,
  };
  const format = {
    type: 'json_schema',
    json_schema: { name: 'weather', schema, strict: true },
  } as const;

  it.each([true, false])('complete in two requests (responses: %s)', async (useResponsesApi) => {
    proxy.use(looksThenSaysJson);
    const before = proxy.model.requests.length;
    const model = modelOf(useResponsesApi, 2).bindTools([getWeather], {
      response_format: format,
      strict: true,
    });
    const messages = await loop(model, weather, stream);
    expect(JSON.parse(messages.at(-1)?.text ?? '')).toEqual({ weather: 'Paris: rain' });
    expect(proxy.model.requests.length - before).toBe(2);
  });

  it('withStructuredOutput returns the object', async () => {
    proxy.use(says([{ reasoning: { summary: ['Hm.'] } }, { text: '{"weather":"rain"}' }]));
    const model = modelOf(true, 2).withStructuredOutput(schema, { method: 'jsonSchema', name: 'weather' });
    expect(await model.invoke(QUESTION)).toEqual({ weather: 'rain' });
  });
});

describe.each([false, true])('tools of the Responses API (stream: %s)', (stream) => {
  const model = modelOf(true);

  it('a custom tool completes', async () => {
    proxy.use(asksForRows);
    const sql = customTool(async (input) => runSql(input), { name: 'run_sql' });
    const run = async ({ id = '', args }: ToolCall): Promise<ToolMessage> =>
      new ToolMessage({
        content: await sql.invoke(String(args['input'])),
        tool_call_id: id,
        // The SDK looks for this marker, and does not set it itself.
        additional_kwargs: { customTool: true },
      });
    const messages = await loop(model.bindTools([sql]), run, stream);
    expect(messages.at(-1)?.text).toBe(ROWS);
  });

  it('searches of the backend are sent back', async () => {
    proxy.use(searches);
    const bound = model.bindTools([{ type: 'web_search' }]);
    const said = await ask(bound, [new HumanMessage(QUESTION)], stream);
    expect(said.text).toBe(FOUND);
    expect(said.content).toMatchObject([{ text: FOUND, annotations: [{ type: 'citation', url: SOURCE }] }]);
    expect(said.additional_kwargs['tool_outputs']).toMatchObject([{ type: 'web_search_call', id: 'ws_1' }]);
    await ask(bound, [new HumanMessage(QUESTION), said, new HumanMessage('And now?')], stream);
    expect(itemsOf(proxy.model.requests.at(-1)?.body ?? {})).toMatchObject([
      { role: 'user' },
      { type: 'web_search_call', id: 'ws_1', action: { query: 'weather in Paris' } },
      { role: 'assistant', content: [{ text: FOUND, annotations: [{ url: SOURCE }] }] },
      { role: 'user' },
    ]);
  });

  it('the backend generates images and runs code', async () => {
    const steps = [hostedStep(HOSTED_ITEMS['code interpreter']), hostedStep(HOSTED_ITEMS.image)];
    proxy.use(says([...steps, { text: 'Done.' }]));
    const bound = model.bindTools([tools.codeInterpreter(), tools.imageGeneration()]);
    const said = await ask(bound, [new HumanMessage(QUESTION)], stream);
    expect(said.text).toBe('Done.');
    expect(said.additional_kwargs['tool_outputs']).toMatchObject(steps.map(({ item }) => item));
  });

  it('an MCP server of the deployment is called', async () => {
    proxy.use(addsUp);
    const bound = model.bindTools([{ type: 'mcp', server_label: 'shop', require_approval: 'never' }]);
    const said = await ask(bound, [new HumanMessage(QUESTION)], stream);
    expect(said.text).toBe(SUM);
    expect(said.additional_kwargs['tool_outputs']).toMatchObject([
      { type: 'mcp_list_tools' },
      { type: 'mcp_call', output: '5' },
    ]);
    const next = [new HumanMessage(QUESTION), said, new HumanMessage('And now?')];
    expect((await ask(bound, next, stream)).text).toBe(SUM);
  });
});

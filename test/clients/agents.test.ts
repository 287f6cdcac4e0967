import {
  Agent,
  codeInterpreterTool,
  hostedMcpTool,
  imageGenerationTool,
  OpenAIChatCompletionsModel,
  OpenAIResponsesModel,
  Runner,
  tool,
  user,
  webSearchTool,
} from '@openai/agents';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { HOSTED_ITEMS, hostedStep } from '../support/hosted-items.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { startProxy } from '../support/proxy.ts';
import { says } from '../support/scripts.ts';
import { addsUp, SUM } from './adding.ts';
import { FOUND, searches } from './hosted.ts';
import { ANSWER, itemsOf, QUESTION, threeRounds, weatherIn } from './rounds.ts';

/** OpenAI's Agents SDK, over the real app-server. */

const shop = await startHttpMcp();
const proxy = await startProxy(threeRounds, {
  PROXY_MCP_CONFIG: mcpFiles().write({ shop: { url: shop.url } }),
});
afterAll(async () => {
  await proxy.close();
  await shop.close();
});
const runner = new Runner({ tracingDisabled: true });

const getWeather = tool({
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => weatherIn(city),
});

const MODELS = {
  responses: () => new OpenAIResponsesModel(proxy.openai, 'gpt-5.5'),
  chat: () => new OpenAIChatCompletionsModel(proxy.openai, 'gpt-5.5'),
};

describe.each(['responses', 'chat'] as const)('%s', (api) => {
  const agent = new Agent({
    name: 'weather',
    instructions: 'Be brief.',
    model: MODELS[api](),
    tools: [getWeather],
  });

  it('completes as JSON', async () => {
    expect((await runner.run(agent, QUESTION)).finalOutput).toBe(ANSWER);
  });

  it('completes as a stream', async () => {
    const run = await runner.run(agent, QUESTION, { stream: true });
    await run.completed;
    expect(run.finalOutput).toBe(ANSWER);
  });
});

/** How a run ended, and what happened in it. */
const runOf = async (agent: Agent, stream: boolean) => {
  if (!stream) return runner.run(agent, QUESTION);
  const run = await runner.run(agent, QUESTION, { stream });
  await run.completed;
  return run;
};

describe.each([false, true])('hosted tools (stream: %s)', (stream) => {
  it('calls an MCP server of the deployment', async () => {
    proxy.use(addsUp);
    const tools = [hostedMcpTool({ serverLabel: 'shop', requireApproval: 'never' })];
    const run = await runOf(new Agent({ name: 'adder', model: MODELS.responses(), tools }), stream);
    expect(run.finalOutput).toBe(SUM);
  });

  it.each([true, false])('asks before it does (approved: %s)', async (approve) => {
    proxy.use(addsUp);
    const asked: unknown[] = [];
    const careful = hostedMcpTool({
      serverLabel: 'shop',
      requireApproval: 'always',
      onApproval: async (_, { rawItem }) => {
        asked.push(rawItem);
        return { approve };
      },
    });
    const run = await runOf(
      new Agent({ name: 'adder', model: MODELS.responses(), tools: [careful] }),
      stream,
    );
    expect(run.finalOutput).toBe(approve ? SUM : 'It is This call was declined..');
    expect(asked).toMatchObject([{ name: 'add', providerData: { arguments: '{"a":2,"b":3}' } }]);
  });

  it('lets the backend generate images and run code, and sends that back', async () => {
    const steps = [hostedStep(HOSTED_ITEMS['code interpreter']), hostedStep(HOSTED_ITEMS.image)];
    proxy.use(says([...steps, { text: 'Done.' }]));
    const tools = [codeInterpreterTool(), imageGenerationTool()];
    const agent = new Agent({ name: 'artist', model: MODELS.responses(), tools });
    const run = await runOf(agent, stream);
    expect(run.finalOutput).toBe('Done.');
    expect(run.newItems.map(({ rawItem }) => rawItem)).toMatchObject([
      { name: 'code_interpreter_call', providerData: { outputs: [{ logs: '2' }] } },
      { name: 'image_generation_call', output: 'aGk=' },
      { type: 'message' },
    ]);
    await runner.run(agent, [...run.history, user('And now?')]);
    // This SDK omits the image itself.
    const [interpreted, drawn] = steps.map(({ item }) => item);
    expect(itemsOf(proxy.model.requests.at(-1)?.body ?? {}).slice(1, 3)).toEqual([
      interpreted,
      { ...drawn, result: null },
    ]);
  });
});

it('waits for a later approval', async () => {
  proxy.use(addsUp);
  const tools = [hostedMcpTool({ serverLabel: 'shop', requireApproval: 'always' })];
  const agent = new Agent({ name: 'adder', model: MODELS.responses(), tools });
  const run = await runner.run(agent, QUESTION);
  expect(run.interruptions).toHaveLength(1);
  for (const asked of run.interruptions) run.state.approve(asked);
  expect((await runner.run(agent, run.state)).finalOutput).toBe(SUM);
});

it('lets the backend search, and sees the search', async () => {
  proxy.use(searches);
  const agent = new Agent({ name: 'reader', model: MODELS.responses(), tools: [webSearchTool()] });
  const run = await runner.run(agent, QUESTION);
  expect(run.finalOutput).toBe(FOUND);
  expect(run.newItems.map(({ type }) => type)).toEqual(['tool_call_item', 'message_output_item']);
});

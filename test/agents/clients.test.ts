import { createOpenAI } from '@ai-sdk/openai';
import { ChatOpenAI } from '@langchain/openai';
import { Agent, hostedMcpTool, OpenAIResponsesModel, Runner } from '@openai/agents';
import { generateText, isStepCount, streamText, type ModelMessage } from 'ai';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

import { answer } from '../../src/demo/answer.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { textIn } from '../../src/kit/json/json.ts';
import { itemsOf, textOf } from '../clients/rounds.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { openProxy } from '../support/open-proxy.ts';

/** SDKs that show the calls of a workspace and answer approvals, over the real app-server. */

const shop = await realpath(await mkdtemp(path.join(tmpdir(), 'workspace-')));
afterAll(() => rm(shop, { recursive: true, force: true }));

/** A model that runs a command, patches a file, and then says whether it could. */
const works: Script = ({ body }, connection) => {
  const heard = itemsOf(body).filter((item) => textIn(item, 'type').endsWith('_call_output'));
  const [command, patch] = heard.map(({ output }) => textOf(output));
  if (command === undefined) {
    const given = { cmd: 'echo one; sleep 0.3; echo two' };
    return answer(connection, [{ call: { name: 'exec_command', arguments: given, callId: 'call_command' } }]);
  }
  if (patch === undefined) {
    const given = '*** Begin Patch\n*** Add File: a.txt\n+a\n*** Delete File: a.txt\n*** End Patch\n';
    return answer(connection, [
      { call: { name: 'apply_patch', tool: 'custom', arguments: given, callId: 'call_patch' } },
    ]);
  }
  const said = [
    /declined/.test(command) ? 'declined' : 'ran',
    /declined/.test(patch) ? 'declined' : 'patched',
  ];
  return answer(connection, [{ text: said.join(', ') }]);
};

const proxy = await openProxy(works, {
  PROXY_MCP_CONFIG: mcpFiles().write({ shop: { workspace: shop } }),
});
const ALL_DONE = 'ran, patched';
const QUESTION = 'Fix it.';

describe("OpenAI's Agents SDK", () => {
  const runner = new Runner({ tracingDisabled: true });
  const model = new OpenAIResponsesModel(proxy.openai, 'gpt-5.5');
  const agentWith = (options: Omit<Parameters<typeof hostedMcpTool>[0], 'serverLabel'>) =>
    new Agent({
      name: 'worker',
      model,
      tools: [hostedMcpTool({ serverLabel: 'shop', ...options } as never)],
    });

  it('sees the calls as JSON', async () => {
    const run = await runner.run(agentWith({ requireApproval: 'never' } as never), QUESTION);
    expect(run.finalOutput).toBe(ALL_DONE);
    expect(run.newItems.map(({ rawItem }) => rawItem)).toMatchObject([
      { name: 'mcp_list_tools' },
      { name: 'mcp_call', providerData: { name: 'exec_command' } },
      { name: 'mcp_call', providerData: { name: 'apply_patch' } },
      { type: 'message' },
    ]);
  });

  it('sees the calls as a stream', async () => {
    const run = await runner.run(agentWith({ requireApproval: 'never' } as never), QUESTION, {
      stream: true,
    });
    await run.completed;
    expect(run.finalOutput).toBe(ALL_DONE);
  });

  it.each([true, false])('answers approvals (%s)', async (approve) => {
    const asked: string[] = [];
    const agent = agentWith({
      requireApproval: 'always',
      onApproval: async (_: unknown, { rawItem }: { rawItem: { name: string } }) => {
        asked.push(rawItem.name);
        return { approve };
      },
    } as never);
    const run = await runner.run(agent, QUESTION);
    expect(asked).toEqual(['exec_command', 'apply_patch']);
    expect(run.finalOutput).toBe(approve ? ALL_DONE : 'declined, declined');
  });

  it('answers approvals later, in several rounds', async () => {
    const agent = agentWith({ requireApproval: 'always' } as never);
    let run = await runner.run(agent, QUESTION);
    let rounds = 0;
    for (; run.interruptions.length > 0; rounds += 1) {
      for (const asked of run.interruptions) run.state.approve(asked);
      run = await runner.run(agent, run.state);
    }
    expect([rounds, run.finalOutput]).toEqual([2, ALL_DONE]);
  });
});

describe('the AI SDK', () => {
  const provider = createOpenAI({ baseURL: `${proxy.url}/v1`, apiKey: proxy.key });
  const askWith = (requireApproval: 'always' | 'never') => ({
    model: provider.responses('gpt-5.5'),
    tools: { mcp: provider.tools.mcp({ serverLabel: 'shop', serverUrl: '', requireApproval }) },
    stopWhen: isStepCount(5),
  });

  it('sees the calls as JSON and as a stream', async () => {
    const ask = { ...askWith('never'), prompt: QUESTION };
    const whole = await generateText(ask);
    const streamed = streamText(ask);
    for (const [text, results] of [
      [whole.text, whole.toolResults],
      [await streamed.text, await streamed.toolResults],
    ] as const) {
      expect(text).toBe(ALL_DONE);
      expect(results).toMatchObject([
        { toolName: 'mcp.exec_command', providerExecuted: true },
        { toolName: 'mcp.apply_patch', providerExecuted: true },
      ]);
    }
  });

  it.each([true, false])('answers approvals (%s)', async (approved) => {
    const messages: ModelMessage[] = [{ role: 'user', content: QUESTION }];
    let text = '';
    for (let round = 0; round < 4 && text === ''; round += 1) {
      const result = await generateText({ ...askWith('always'), messages });
      ({ text } = result);
      messages.push(...result.response.messages);
      const asked = result.content.filter((part) => part.type === 'tool-approval-request');
      if (asked.length === 0) break;
      messages.push({
        role: 'tool',
        content: asked.map(({ approvalId }) => ({
          type: 'tool-approval-response',
          approvalId,
          approved,
          providerExecuted: true,
        })),
      });
    }
    expect(text).toBe(approved ? ALL_DONE : 'declined, declined');
  });
});

it('LangChain sees the calls', async () => {
  const model = new ChatOpenAI({
    model: 'gpt-5.5',
    useResponsesApi: true,
    apiKey: proxy.key,
    configuration: { baseURL: `${proxy.url}/v1` },
  }).bindTools([{ type: 'mcp', server_label: 'shop', require_approval: 'never' }]);
  const answered = await model.invoke(QUESTION);
  expect(answered.additional_kwargs['tool_outputs']).toMatchObject([
    { type: 'mcp_list_tools' },
    { type: 'mcp_call', name: 'exec_command' },
    { type: 'mcp_call', name: 'apply_patch' },
  ]);
});

it("OpenAI's stream helper accepts live output", async () => {
  const stream = proxy.openai.responses.stream({
    model: 'gpt-5.5',
    input: QUESTION,
    tools: [{ type: 'mcp', server_label: 'shop', require_approval: 'never' }],
  });
  const live: unknown[] = [];
  stream.on('response.mcp_call.in_progress', (event) => {
    if ('output_delta' in event) live.push(event.output_delta);
  });
  const final = await stream.finalResponse();
  // codex may lose the first of it.
  expect(live.join('')).toContain('two\n');
  expect(final.output_text).toBe(ALL_DONE);
});

import path from 'node:path';

import type { ResponseInputItem, Tool } from 'openai/resources/responses/responses';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import type { Step } from '../../src/demo/step.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { livingProcesses, stdioEntry } from '../support/mcp/stdio-server.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';
import { openChecked } from './responses-checked.ts';
import { sentItems } from './responses-sent.ts';

const files = mcpFiles();
const journal = path.join(files.directory, 'journal');
const web = await startHttpMcp();
afterAll(() => web.close());

const { proxy, client } = await openChecked(hello, {
  PROXY_MCP_CONFIG: files.write({
    local: stdioEntry({ journal }),
    'the-web': { url: web.url, tool_timeout_sec: 2 },
    dies: stdioEntry({ journal, mood: 'dies' }),
    slow: { ...stdioEntry({ journal, mood: 'silent' }), startup_timeout_sec: 1 },
  }),
});
afterAll(() => until(() => livingProcesses(journal).length === 0));

const mcp = (server_label: string, more: Partial<Tool.Mcp> = {}): Tool.Mcp => ({
  type: 'mcp',
  server_label,
  require_approval: 'never',
  ...more,
});
const calls = (name: string, given: object, callId = 'call_1', namespace = 'mcp__the_web'): Step => ({
  call: { name, namespace, arguments: JSON.stringify(given), callId },
});
const QUESTION = { role: 'user', content: 'How much is it?' } as const;
const natural = { headers: { 'x-proxy-output-layout': 'natural' } };
const usage = { inputTokens: 10, cachedInputTokens: 1, cacheWriteInputTokens: 0, outputTokens: 5, reasoningTokens: 0, totalTokens: 15 };

/** The model calls, and then says that it is done. */
const thenDone = (...steps: readonly Step[]): Script =>
  inTurn(says(steps, { usage }), says([{ text: 'Done.' }], { usage }));

const ADDED = {
  id: 'mcp_call_1',
  type: 'mcp_call',
  status: 'completed',
  approval_request_id: null,
  name: 'add',
  arguments: '{"a":2,"b":3}',
  output: '5',
  error: null,
};

describe('a tool of an MCP server', () => {
  it.each(['the-web', 'local'])('of %s is run, shown with its result, and the model goes on', async (label) => {
    proxy.use(thenDone(calls('add', { a: 2, b: 3 }, 'call_1', `mcp__${label.replaceAll('-', '_')}`)));
    const before = proxy.model.requests.length;
    const answer = await client.openai.responses.create(
      { model: 'gpt-5.5', input: [QUESTION], tools: [mcp(label)] },
      natural,
    );
    expect(answer.output).toMatchObject([
      { type: 'mcp_list_tools', server_label: label },
      { ...ADDED, server_label: label },
      { type: 'message', content: [{ text: 'Done.' }] },
    ]);
    expect(answer.usage).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
    expect(proxy.model.requests.length - before).toBe(2);
    const namespace = `mcp__${label.replaceAll('-', '_')}`;
    expect(sentItems(proxy.model)).toEqual([
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'How much is it?' }] },
      expect.objectContaining({ type: 'function_call', namespace, name: 'add', arguments: '{"a":2,"b":3}' }),
      expect.objectContaining({ type: 'function_call_output', call_id: 'call_1', output: '5' }),
    ]);
  });
});
void (0 as unknown as ResponseInputItem);

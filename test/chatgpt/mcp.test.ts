import { afterAll, expect, it } from 'vitest';

import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { shareProxy } from './hooks.ts';
import { itemsSent, outputText, type ChatGptProxy } from './proxy.ts';

const files = mcpFiles();
const web = await startHttpMcp();
afterAll(() => web.close());
let proxy: ChatGptProxy;
shareProxy(
  (started) => {
    proxy = started;
  },
  { env: { PROXY_MCP_CONFIG: files.write({ web: { url: web.url, require_approval: 'never' } }) } },
);

const QUESTION = { role: 'user', content: 'How much is it?' };
const tools = [{ type: 'mcp', server_label: 'web' }];

it.each(['gpt-6.1-sol', 'gpt-5.5'])(
  'a tool of an MCP server runs for %s, now and in the history',
  async (model) => {
    const call = { name: 'add', namespace: 'mcp__web', arguments: '{"a":2,"b":3}', callId: 'call_1' };
    proxy.backend.use(inTurn(says([{ call }]), hello));
    const first = await proxy.post('/v1/responses', { model, input: [QUESTION], tools });
    expect(first.status).toBe(200);
    const output = (first.json['output'] as JsonObject[]).filter(isJsonObject);
    expect(output.find(({ type }) => type === 'mcp_call')).toMatchObject({ name: 'add', output: '5' });
    expect(outputText(first)).toBe('Hello from the scripted model.');
    proxy.backend.use(hello);
    const next = await proxy.post('/v1/responses', { model, input: [QUESTION, ...output, QUESTION], tools });
    expect(next.status).toBe(200);
    const request = proxy.backend.modelRequests.at(-1);
    expect(request === undefined ? [] : itemsSent(request)).toContainEqual(
      expect.objectContaining({
        type: 'function_call',
        name: 'add',
        namespace: 'mcp__web',
        call_id: 'call_1',
      }),
    );
  },
);

it('the number of calls is limited here, so it is not reported as ignored', async () => {
  proxy.backend.use(hello);
  const asked = { model: 'gpt-5.5', input: 'hi', max_tool_calls: 1 };
  const ours = await proxy.post('/v1/responses', { ...asked, tools });
  expect([ours.status, ours.headers.get('x-proxy-ignored-params')]).toEqual([200, null]);
  const search = { type: 'web_search' };
  const both = await proxy.post('/v1/responses', { ...asked, tools: [...tools, search] });
  expect([both.status, both.headers.get('x-proxy-ignored-params')]).toEqual([200, 'max_tool_calls']);
});

it('a server of the client is rejected', async () => {
  const named = { type: 'mcp', server_label: 'mine', server_url: 'https://mcp.example.com/mcp' };
  const { status, json } = await proxy.post('/v1/responses', {
    model: 'gpt-5.5',
    input: 'hi',
    tools: [named],
  });
  expect([status, json['error']]).toMatchObject([400, { code: 'unsupported_tool', param: 'tools[0]' }]);
});

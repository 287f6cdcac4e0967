import Anthropic from '@anthropic-ai/sdk';
import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { sentItems } from './responses-sent.ts';

/** MCP servers in Messages, with the real app-server. */

const files = mcpFiles();
const web = await startHttpMcp({ token: 'let-me-in' });
afterAll(() => web.close());
const proxy = await openProxy(hello, {
  PROXY_MCP_CONFIG: files.write({
    'the-web': { url: web.url, headers: { Authorization: 'Bearer let-me-in' } },
  }),
  PROXY_MCP_CLIENT_SERVERS: 'true',
  PROXY_MCP_CLIENT_PRIVATE: 'true',
});
const anthropic = new Anthropic({ baseURL: proxy.url, apiKey: proxy.key, maxRetries: 0 });
type Body = Anthropic.Beta.MessageCreateParamsNonStreaming;
type Message = Anthropic.Beta.BetaMessage;

const QUESTION = { role: 'user' as const, content: 'How much is it?' };
const named = (url: string, more: object = {}) => ({
  type: 'url' as const,
  name: 'the-web',
  url,
  ...(url === '' ? {} : { authorization_token: 'let-me-in' }),
  ...more,
});
const ask = (more: Partial<Body> = {}): Body => ({
  model: 'gpt-5.5',
  max_tokens: 100,
  messages: [QUESTION],
  mcp_servers: [named('')],
  ...more,
});

const calls = (name: string, given: object): Script =>
  inTurn(
    says([{ call: { name, namespace: 'mcp__the_web', arguments: JSON.stringify(given), callId: 'call_1' } }]),
    says([{ text: 'Done.' }]),
  );

const WAYS: readonly (readonly [string, (body: Body) => Promise<Message>])[] = [
  ['JSON', (body) => anthropic.beta.messages.create(body)],
  ['a stream', (body) => anthropic.beta.messages.stream(body).finalMessage()],
];

const CALL = {
  type: 'mcp_tool_use',
  id: 'mcptoolu_mcp_call_1',
  name: 'add',
  server_name: 'the-web',
  input: { a: 2, b: 3 },
};
const RESULT = {
  type: 'mcp_tool_result',
  tool_use_id: 'mcptoolu_mcp_call_1',
  is_error: false,
  content: [{ type: 'text', text: '5' }],
};

describe.each(WAYS)('a call of an MCP server as %s', (_, create) => {
  it.each([
    ['of the deployment', ''],
    ['of the client', web.url],
  ])('%s is run and shown, and comes back', async (__, url) => {
    proxy.use(calls('add', { a: 2, b: 3 }));
    const { content, stop_reason: reason } = await create(ask({ mcp_servers: [named(url)] }));
    expect(content).toMatchObject([CALL, RESULT, { type: 'text', text: 'Done.' }]);
    expect(reason).toBe('end_turn');
    proxy.use(hello);
    const messages = [
      QUESTION,
      { role: 'assistant' as const, content },
      { role: 'user' as const, content: 'Sure?' },
    ];
    await create(ask({ messages, mcp_servers: [named(url)] }));
    expect(sentItems(proxy.model)).toMatchObject([
      { role: 'user' },
      {
        type: 'function_call',
        call_id: 'call_1',
        namespace: 'mcp__the_web',
        name: 'add',
        arguments: '{"a":2,"b":3}',
      },
      { type: 'function_call_output', call_id: 'call_1', output: '5' },
      { role: 'assistant' },
      { role: 'user' },
    ]);
  });

  it('that fails says so', async () => {
    proxy.use(calls('fail', {}));
    const { content } = await create(ask());
    expect(content).toMatchObject([
      { type: 'mcp_tool_use', name: 'fail', input: {} },
      { type: 'mcp_tool_result', is_error: true, content: [{ type: 'text', text: 'it did not work' }] },
      { type: 'text', text: 'Done.' },
    ]);
  });
});

const toolsSent = (): string => JSON.stringify(proxy.model.requests.at(-1)?.body['tools'] ?? null);

it('offers the tools that a toolset or the server allows', async () => {
  proxy.use(hello);
  const toolset = {
    type: 'mcp_toolset' as const,
    mcp_server_name: 'the-web',
    default_config: { enabled: false },
    configs: { add: { enabled: true } },
  };
  const allowed = named('', { tool_configuration: { allowed_tools: ['add'] } });
  for (const more of [{ tools: [toolset] }, { mcp_servers: [allowed] }]) {
    await anthropic.beta.messages.create(ask(more));
    expect(toolsSent()).toContain('"add"');
    expect(JSON.parse(toolsSent())[0].tools).toHaveLength(1);
  }
  await anthropic.beta.messages.create(
    ask({ mcp_servers: [named('', { tool_configuration: { enabled: false } })] }),
  );
  expect(toolsSent()).not.toContain('mcp__');
});

it.each([
  [
    'a server that is not configured',
    { mcp_servers: [{ ...named(''), name: 'else' }] },
    "mcp_servers[0]: there is no MCP server 'else', and no URL is given;",
  ],
  ['two servers of one name', { mcp_servers: [named(''), named('')] }, 'mcp_servers[1].name'],
  [
    'a toolset without its server',
    { tools: [{ type: 'mcp_toolset', mcp_server_name: 'else' }] },
    'tools[0].mcp_server_name',
  ],
  [
    'one tool that is disabled',
    { tools: [{ type: 'mcp_toolset', mcp_server_name: 'the-web', configs: { add: { enabled: false } } }] },
    'tools[0].configs.add.enabled',
  ],
])('%s is rejected by its place', async (_, more, place) => {
  const response = await proxy.post('/v1/messages', { ...ask(), ...more });
  const { error } = (await response.json()) as { readonly error: { readonly message: string } };
  expect([response.status, error.message]).toEqual([400, expect.stringContaining(place)]);
});

import path from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import type { Script } from '../../src/demo/model-server.ts';
import { mcpFiles } from '../support/mcp/config-file.ts';
import { startHttpMcp } from '../support/mcp/http-server.ts';
import { livingProcesses, stdioEntry } from '../support/mcp/stdio-server.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello, inTurn, says } from '../support/scripts.ts';
import { until } from '../support/until.ts';

const files = mcpFiles();
const journal = path.join(files.directory, 'journal');
const web = await startHttpMcp({ token: 'let-me-in' });
afterAll(() => web.close());
const PROXY_MCP_CONFIG = files.write({
  web: { url: web.url, headers: { Authorization: 'Bearer let-me-in' }, require_approval: 'never' },
  careful: { url: web.url, headers: { Authorization: 'Bearer let-me-in' } },
  local: { ...stdioEntry({ journal }), require_approval: 'never' },
});
const relayed = await openProxy(hello, {
  PROXY_MCP_CONFIG,
  PROXY_MCP_CLIENT_SERVERS: 'true',
  PROXY_MCP_CLIENT_PRIVATE: 'true',
});
const direct = await openProxy(hello, { PROXY_MCP_CONFIG, PROXY_WIRE: 'off' });

const adds = (namespace: string): Script =>
  inTurn(
    says([{ call: { name: 'add', namespace, arguments: '{"a":2, "b":3}', callId: 'call_1' } }]),
    says([{ text: 'It is 5.' }]),
  );
const mixed = says([
  { call: { name: 'slow', namespace: 'mcp__web', arguments: '{"ms":200}', callId: 'call_1' } },
  { call: { name: 'get_weather', arguments: '{}', callId: 'call_2' } },
]);
const WEATHER = { name: 'get_weather', parameters: { type: 'object', properties: {} } };
const web_ = { type: 'mcp', server_label: 'web' };
const QUESTION = [{ role: 'user' as const, content: 'How much is it?' }];

describe('without the relay', () => {
  it('runs calls and returns them, and the model continues', async () => {
    for (const label of ['web', 'local']) {
      direct.use(adds(`mcp__${label}`));
      const answer = await direct.openai.responses.create(
        { model: 'gpt-5.5', input: QUESTION, tools: [{ type: 'mcp', server_label: label }] },
        { headers: { 'x-proxy-output-layout': 'natural' } },
      );
      expect(answer.output).toMatchObject([
        { type: 'mcp_list_tools', server_label: label },
        { type: 'mcp_call', name: 'add', arguments: '{"a":2, "b":3}', output: '5', status: 'completed' },
        { type: 'message', content: [{ text: 'It is 5.' }] },
      ]);
    }
  });

  it('finishes its calls before calls of the client end the turn', async () => {
    direct.use(mixed);
    const { output } = await direct.openai.responses.create(
      {
        model: 'gpt-5.5',
        input: QUESTION,
        tools: [
          { type: 'mcp', server_label: 'web' },
          { type: 'function', strict: false, ...WEATHER },
        ],
      },
      { headers: { 'x-proxy-output-layout': 'natural' } },
    );
    expect(output.slice(1)).toMatchObject([
      { type: 'mcp_call', name: 'slow', output: 'at last' },
      { type: 'function_call', call_id: 'call_2' },
    ]);
  });
});

describe.each([
  ['with the relay', relayed],
  ['without it', direct],
])('a chat %s', (_, proxy) => {
  it('returns the final text of the model', async () => {
    proxy.use(adds('mcp__web'));
    const { choices } = await proxy.openai.chat.completions.create({
      model: 'gpt-5.5',
      messages: QUESTION,
      tools: [web_ as never],
    });
    expect(choices).toMatchObject([{ finish_reason: 'stop', message: { content: 'It is 5.' } }]);
    expect(choices[0]?.message.tool_calls).toBeUndefined();
  });

  it("returns the client's calls after the server's calls have ended", async () => {
    proxy.use(mixed);
    const { choices } = await proxy.openai.chat.completions.create({
      model: 'gpt-5.5',
      messages: QUESTION,
      tools: [web_ as never, { type: 'function', function: WEATHER }],
    });
    expect(choices).toMatchObject([
      { finish_reason: 'tool_calls', message: { tool_calls: [{ id: 'call_2' }] } },
    ]);
  });

  it('cannot ask for approval', async () => {
    await expect(
      proxy.openai.chat.completions.create({
        model: 'gpt-5.5',
        messages: QUESTION,
        tools: [{ type: 'mcp', server_label: 'careful' } as never],
      }),
    ).rejects.toThrow("400 Invalid 'tools[0]': its 'require_approval' must be 'never'");
  });
});

describe('an MCP server named by a client', () => {
  const named = {
    type: 'mcp',
    server_label: 'mine',
    server_url: web.url,
    require_approval: 'never',
    authorization: 'let-me-in',
  } as const;

  it('gets its token, which is never echoed', async () => {
    relayed.use(adds('mcp__mine'));
    const answer = await relayed.openai.responses.create({
      model: 'gpt-5.5',
      input: QUESTION,
      tools: [named],
    });
    expect(answer.output_text).toBe('It is 5.');
    expect(JSON.stringify([answer, relayed.model.requests.at(-1)?.body, relayed.log])).not.toContain(
      'let-me-in',
    );
    await until(() => web.sessions() === 0);
  });

  it('is left to the backend if this server may not connect to it', async () => {
    direct.use(hello);
    await expect(
      direct.openai.responses.create({ model: 'gpt-5.5', input: QUESTION, tools: [named] }),
    ).rejects.toThrow("400 Unsupported tool: 'tools[0]' is an MCP server of the client");
  });
});

describe('many turns', () => {
  it('leave no processes or sessions, however they end', async () => {
    const ask = async (label: string, signal?: AbortSignal) =>
      relayed.openai.responses
        .create(
          { model: 'gpt-5.5', input: QUESTION, tools: [{ type: 'mcp', server_label: label }] },
          signal === undefined ? {} : { signal },
        )
        .then(({ output_text }) => output_text)
        .catch(() => 'gone');
    relayed.use((request, connection) =>
      JSON.stringify(request.body['input']).includes('function_call_output')
        ? says([{ text: 'It is 5.' }])(request, connection)
        : says([
            {
              call: {
                name: 'slow',
                namespace: `mcp__${JSON.stringify(request.body['tools']).includes('mcp__local') ? 'local' : 'web'}`,
                arguments: '{"ms":20}',
                callId: 'call_1',
              },
            },
          ])(request, connection),
    );
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) => ask(index % 4 === 0 ? 'local' : 'web')),
    );
    expect(new Set(answers)).toEqual(new Set(['It is 5.']));
    relayed.use(
      says([
        { call: { name: 'slow', namespace: 'mcp__local', arguments: '{"ms":60000}', callId: 'call_1' } },
      ]),
    );
    const leaving = new AbortController();
    const before = relayed.model.requests.length;
    const left = ask('local', leaving.signal);
    await until(() => relayed.model.requests.length > before);
    leaving.abort();
    expect(await left).toBe('gone');
    await until(() => livingProcesses(journal).length === 0 && web.sessions() === 0);
  });
});

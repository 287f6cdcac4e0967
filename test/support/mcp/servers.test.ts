import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, it, onTestFinished } from 'vitest';

import { startHttpMcp } from './http-server.ts';
import { stdioEntry } from './stdio-server.ts';
import { TOOL_NAMES } from './tools.ts';

type Transport = Parameters<Client['connect']>[0];

const connect = async (transport: Transport): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
};

const trial = async (client: Client): Promise<unknown> => ({
  tools: (await client.listTools()).tools.map(({ name }) => name),
  sum: (await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).content,
  failure: (await client.callTool({ name: 'fail' })).isError,
});

const WELL = { tools: TOOL_NAMES, sum: [{ type: 'text', text: '5' }], failure: true };

describe('the MCP servers of the tests', () => {
  it('work with the client of the SDK over stdio', async () => {
    const { command, args } = stdioEntry();
    expect(await trial(await connect(new StdioClientTransport({ command, args: [...args] })))).toEqual(WELL);
  });

  it.each(['stream', 'json'] as const)('work over HTTP with %s answers and a token', async (answers) => {
    const server = await startHttpMcp({ answers, token: 'let-me-in' });
    onTestFinished(() => server.close());
    const transport = new StreamableHTTPClientTransport(new URL(server.url), {
      requestInit: { headers: { authorization: 'Bearer let-me-in' } },
    });
    expect(await trial(await connect(transport as Transport))).toEqual(WELL);
    expect(server.sessions()).toBe(1);
    await transport.terminateSession();
    expect(server.sessions()).toBe(0);
  });
});

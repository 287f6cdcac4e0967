import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, describe, expect, it } from 'vitest';

import { startHttpMcp, type HttpMcpServer, type HttpOptions } from '../../../test/support/mcp/http-server.ts';
import type { McpServer, McpTransport } from '../../canonical/mcp/mcp-server.ts';
import type { ReachableMcp } from '../../engine/mcp/mcp-tools.ts';
import { createAgentPinner, type PinnedAgentOptions } from '../../network/pinned-agent.ts';
import { openMcpServers, type OpenMcpServers } from './servers.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const serve = async (options: HttpOptions = {}): Promise<HttpMcpServer> => {
  const server = await startHttpMcp(options);
  closers.push(() => server.close());
  return server;
};

const open = async (
  servers: readonly McpServer[],
  pinned: Partial<PinnedAgentOptions> | null,
): Promise<OpenMcpServers> => {
  const mcp = await openMcpServers({
    servers,
    environment: { SSL_CERT_FILE: '/own.pem' },
    pinAgent:
      pinned === null ? null : createAgentPinner({ allowPrivate: false, keepsConnections: true, ...pinned }),
    onBug(error) {
      throw error;
    },
  });
  closers.push(() => mcp.close());
  return mcp;
};

const server = (transport: McpTransport, label = 'a'): McpServer => ({
  label,
  transport,
  startupSeconds: 3,
  callSeconds: 4,
  requireApproval: 'always',
});
const web = (url: string): McpServer => server({ kind: 'http', url, headers: { 'X-Own': 'yes' } });

const never = new AbortController().signal;

const tools = async ({ config }: ReachableMcp): Promise<number> => {
  const client = new Client({ name: 'test', version: '1' });
  closers.push(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(config['url'] as string)));
  return (await client.listTools()).tools.length;
};

describe('MCP servers of the deployment', () => {
  it('are configured unchanged if they are processes, otherwise without address and headers', async () => {
    const there = await serve();
    const stdio = server({ kind: 'stdio', command: 'c', args: ['x'], env: { K: 'v' }, cwd: '/d' }, 'b');
    const { deployment, reach } = await open([web(there.url), stdio], null);
    const limits = { startup_timeout_sec: 3, tool_timeout_sec: 4 };
    expect([...deployment].map(([label, { config }]) => [label, config])).toEqual([
      [
        'a',
        {
          url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/[\w-]{32}$/),
          http_headers: { Authorization: 'Bearer none' },
          ...limits,
        },
      ],
      ['b', { command: 'c', args: ['x'], env: { SSL_CERT_FILE: '/own.pem', K: 'v' }, cwd: '/d', ...limits }],
    ]);
    expect(reach).toBeNull();
    expect(await tools(deployment.get('a') as ReachableMcp)).toBe(9);
    expect(there.requests[0]?.headers['x-own']).toBe('yes');
  });
});

describe('MCP servers that clients name', () => {
  it('are reached at the checked address, even if DNS changes', async () => {
    const there = await serve();
    const answers = [['127.0.0.1'], ['10.0.0.1']];
    const { reach } = await open([], {
      resolve: async () => answers.shift() ?? [],
      isPublic: (address) => address === '127.0.0.1',
    });
    const reached = await reach?.(web(there.url.replace('127.0.0.1', 'mcp.example')), never);
    expect(reached === undefined ? null : await tools(reached)).toBe(9);
    expect(answers).toHaveLength(1);
    expect(there.requests[0]?.headers.host).toBe(
      new URL(there.origin).host.replace('127.0.0.1', 'mcp.example'),
    );
  });

  it.each([
    [
      'http://127.0.0.1:1/mcp',
      ['1.1.1.1'],
      400,
      "The URL of the MCP server 'a' does not lead to a public address.",
    ],
    [
      'http://[::1]/mcp',
      ['1.1.1.1'],
      400,
      "The URL of the MCP server 'a' does not lead to a public address.",
    ],
    [
      'http://h/mcp',
      ['1.1.1.1', '192.168.0.1'],
      400,
      "The URL of the MCP server 'a' does not lead to a public address.",
    ],
    ['http://h/mcp', null, 424, "The host name of the MCP server 'a' could not be resolved."],
  ])('are rejected: %s with the addresses %j', async (url, addresses, status, message) => {
    const { reach } = await open([], {
      resolve: async () => {
        if (addresses === null) throw new Error('unknown name');
        return addresses;
      },
    });
    await expect(reach?.(web(url), never)).rejects.toMatchObject({ failure: { status, message } });
  });

  it('are abandoned when the client disconnects during the DNS lookup', async () => {
    const leaving = new AbortController();
    const { reach } = await open([], { resolve: () => new Promise(() => {}) });
    const reaching = reach?.(web('http://h/mcp'), leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(reaching).rejects.toThrow('gone');
  });
});

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Agent } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';

import { makeCertificates } from '../../../../test/chatgpt/certificate.ts';
import {
  startHttpMcp,
  type HttpMcpServer,
  type HttpOptions,
} from '../../../../test/support/mcp/http-server.ts';
import { until } from '../../../../test/support/until.ts';
import { startMcpRelay, type McpRelay, type ClientMcpRoute, type McpUpstream } from './mcp-relay.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

const openRelay = async (maxMcpRoutes?: number): Promise<McpRelay> => {
  const relay = await startMcpRelay({
    onBug(error) {
      throw error;
    },
    ...(maxMcpRoutes === undefined ? {} : { maxMcpRoutes }),
  });
  closers.push(() => relay.close());
  return relay;
};

const serve = async (options: HttpOptions = {}): Promise<HttpMcpServer> => {
  const server = await startHttpMcp(options);
  closers.push(() => server.close());
  return server;
};

const agent = (ca?: string): Agent => {
  const made = new Agent({ connect: ca === undefined ? {} : { ca } });
  closers.push(() => made.destroy());
  return made;
};

const targetOf = (server: { readonly url: string }, more: Partial<McpUpstream> = {}): McpUpstream => ({
  url: server.url,
  headers: {},
  secrets: [],
  dispatcher: agent(),
  idleMs: 60_000,
  ...more,
});

interface Connected {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

const connect = async ({ address }: ClientMcpRoute): Promise<Connected> => {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(address), {
    requestInit: { headers: { authorization: 'Bearer none', cookie: 'a=b' } },
  });
  closers.push(() => client.close());
  await client.connect(transport);
  return { client, transport };
};

const sum = async ({ client }: Connected): Promise<unknown> =>
  (await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })).content;

/** The message of the expected error. */
const failing = async (work: Promise<unknown>): Promise<string> => {
  const failed = await work.then(
    () => null,
    (error: unknown) => String(error),
  );
  if (failed === null) throw new Error('it did not fail');
  return failed;
};

const FIVE = [{ type: 'text', text: '5' }];

describe('the MCP relay', () => {
  it.each([
    ['stream', false],
    ['json', false],
    ['stream', true],
  ] as const)('passes %s answers over https: %s', async (answers, isSecure) => {
    const certificates = isSecure ? makeCertificates() : null;
    const server = await serve({
      answers,
      token: 'let-me-in',
      ...(certificates === null ? {} : { certificates }),
    });
    const mcpRoute = (await openRelay()).open(
      targetOf(server, {
        headers: { Authorization: 'Bearer let-me-in', 'X-Own': 'yes' },
        dispatcher: agent(certificates?.authority),
      }),
    );
    const connected = await connect(mcpRoute);
    expect(await sum(connected)).toEqual(FIVE);
    expect((await connected.client.listTools()).tools).toHaveLength(9);
    await connected.transport.terminateSession();
    expect(server.sessions()).toBe(0);
    const methods = new Set(server.requests.map(({ method }) => method));
    expect([...methods].toSorted()).toEqual(['DELETE', 'GET', 'POST']);
    // The relay adds the server's headers; none of the app-server's are sent.
    for (const { headers } of server.requests) {
      expect([headers.authorization, headers['x-own'], headers.cookie]).toEqual([
        'Bearer let-me-in',
        'yes',
        undefined,
      ]);
    }
    expect(server.requests.at(-1)?.headers['mcp-session-id']).toBeDefined();
    expect(mcpRoute.lastError).toBeNull();
  });

  it('hides secrets that the server repeats: the app-server would log them', async () => {
    const server = await serve({ mood: 'broken' });
    const mcpRoute = (await openRelay()).open(targetOf(server, { secrets: ['of order'] }));
    const refused = await fetch(mcpRoute.address, { method: 'POST', body: '{}' });
    expect([await refused.text(), mcpRoute.lastError]).toEqual(['out ***', 'answered HTTP 500: out ***']);
  });

  it.each([
    ['broken', 'answered HTTP 500: out of order'],
    ['redirects', 'answered with a redirect, which is not followed'],
    ['cuts', 'could not be reached: the connection was closed (UND_ERR_SOCKET)'],
  ] as const)(
    'reports the error of a server that is %s, and clears it after a success',
    async (mood, lastError) => {
      const server = await serve({ mood });
      const mcpRoute = (await openRelay()).open(targetOf(server));
      await failing(connect(mcpRoute));
      expect(mcpRoute.lastError).toBe(lastError);
      server.become('well');
      expect(await sum(await connect(mcpRoute))).toEqual(FIVE);
      expect(mcpRoute.lastError).toBeNull();
    },
  );

  it('reports a missing token, a bad certificate, a closed port and a timeout', async () => {
    const relay = await openRelay();
    const guarded = relay.open(targetOf(await serve({ token: 'x' })));
    const secure = relay.open(targetOf(await serve({ certificates: makeCertificates() })));
    const closedPort = relay.open(targetOf({ url: 'http://127.0.0.1:9/mcp' }));
    const silent = relay.open(targetOf(await serve({ mood: 'silent' }), { idleMs: 50 }));
    const all = [guarded, secure, closedPort, silent];
    for (const mcpRoute of all) await failing(connect(mcpRoute));
    expect(all.map(({ lastError }) => lastError)).toEqual([
      'refused the credentials (HTTP 401)',
      'could not be reached: its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE)',
      'could not be reached: the connection was refused (ECONNREFUSED)',
      'did not answer within 1 s',
    ]);
  });

  it('hides from the app-server where to sign in, and serves no other path', async () => {
    const { address } = (await openRelay()).open(targetOf(await serve({ token: 'x' })));
    const refused = await fetch(address, { method: 'POST', body: '{}' });
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, null]);
    const { origin, pathname } = new URL(address);
    const others = [
      `${address}/.well-known/openid-configuration`,
      `${origin}/.well-known/oauth-protected-resource${pathname}`,
    ];
    expect(await Promise.all(others.map(async (url) => (await fetch(url)).status))).toEqual([404, 404]);
  });

  it('aborts requests when a route is closed, but lets the session end', async () => {
    let isGone = false;
    const server = await serve();
    const relay = await openRelay();
    const mcpRoute = relay.open(targetOf(server, { onClosed: () => (isGone = true) }));
    const connected = await connect(mcpRoute);
    connected.client.callTool({ name: 'slow', arguments: { ms: 60_000 } }).catch(() => {});
    const messages = () => server.requests.filter(({ method }) => method === 'POST');
    await until(() => messages().length === 3);
    mcpRoute.close();
    await until(() => messages()[2]?.isOver() === true);
    expect(await failing(sum(connected))).toContain('Error POSTing to endpoint');
    expect(messages()).toHaveLength(3);
    await connected.transport.terminateSession();
    expect([server.sessions(), isGone]).toEqual([0, false]);
    await relay.close();
    expect(isGone).toBe(true);
  });

  it('aborts its request when the app-server disconnects', async () => {
    const server = await serve({ mood: 'silent' });
    const { address } = (await openRelay()).open(targetOf(server));
    const leaving = new AbortController();
    const asked = fetch(address, { method: 'POST', body: '{}', signal: leaving.signal });
    await until(() => server.requests.length === 1);
    leaving.abort();
    await failing(asked);
    await until(() => server.requests[0]?.isOver() === true);
    expect(server.requests).toHaveLength(1);
  });

  it('limits the number of servers', async () => {
    const relay = await openRelay(1);
    const target = targetOf({ url: 'http://127.0.0.1:9' });
    relay.open(target);
    expect(() => relay.open(target)).toThrow('Too many MCP servers are in use at once.');
  });
});

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

import type { Workspace } from '../../src/canonical/mcp/workspace.ts';
import type { Core } from '../../src/compose/feature.ts';
import { openDoor, type McpDoor } from '../../src/features/agents/door/door.ts';
import { ALL_SCOPES } from '../../src/http/guards/scopes.ts';
import { listen } from '../../src/http/listen/listen.ts';
import type { HttpServer } from '../../src/http/server.ts';
import { serveRoutes, testBodies } from './serve-routes.ts';
import { scriptedSessions, type TurnScript } from './scripted-sessions.ts';

const workspace = (label: string): Workspace => ({
  label,
  path: `/srv/${label}`,
  configuredPath: `/srv/${label}`,
  access: 'write',
  network: 'none',
  read: [],
  write: [],
  hide: [],
  git: false,
  env: {},
  requireApproval: 'never',
  runs: 1,
  maxSeconds: 60,
  maxModelRequests: 10,
  callSeconds: 60,
});

/** The workspaces that each key may use. */
const WORKSPACES: Readonly<Record<string, readonly string[]>> = {
  one: ['demo'],
  both: ['demo', 'docs'],
  none: [],
};

interface DoorOptions {
  readonly approvalMs?: number;
  /** Sessions are stored. Default: they are. */
  readonly hasSessions?: boolean;
}

/** `/mcp` with scripted sessions, and without a socket. The keys are `one`, `both` and `none`. */
export const openTestDoor = (
  script: TurnScript,
  { approvalMs = 600_000, hasSessions = true }: DoorOptions = {},
) => {
  const agents = scriptedSessions(script);
  const bugs: unknown[] = [];
  const core: unknown = {
    get ambient() {
      return { clock: served.clock, ids: { mint: (prefix: string) => `${prefix}_${crypto.randomUUID()}` } };
    },
    apis: [],
    bodies: { bodies: testBodies(), maxBodyBytes: 100_000 },
    exchanges: () => served.server.exchanges,
    turns: () => ({ keepaliveMs: 60_000, onBug: (error: unknown) => bugs.push(error) }),
  };
  let door: McpDoor | null = null;
  const opened = (): McpDoor =>
    (door ??= openDoor({
      core: core as Core,
      sessions: hasSessions ? agents.service : null,
      workspacesOf: (keyId) => (WORKSPACES[keyId] ?? []).map(workspace),
      approvalMs,
    }));
  const names = ['POST /mcp', 'GET /mcp', 'DELETE /mcp'] as const;
  const served = serveRoutes(
    names.map((name) => ({
      method: name.split(' ')[0] as 'POST' | 'GET' | 'DELETE',
      path: '/mcp',
      access: 'key',
      handle: (...args) => opened().routes[name](...args),
    })),
    ({ headers }) => ({
      keyId: headers.get('authorization')?.replace('Bearer ', '') ?? '',
      scopes: ALL_SCOPES,
    }),
  );
  const clients: Client[] = [];
  return {
    agents,
    bugs,
    clock: served.clock,
    log: served.log,
    server: served.server,
    drain: () => opened().drain(),
    /** Posts one message without the SDK. */
    post: (message: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
      served.send('/mcp', {
        method: 'POST',
        headers: {
          authorization: 'Bearer one',
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: typeof message === 'string' ? message : JSON.stringify(message),
      }),
    send: served.send,
    /** Over HTTP, for a program. */
    listen: () =>
      listen(served.server.fetch, {
        host: '127.0.0.1',
        port: 0,
        refuse: (failed, origin) => served.server.refuse(failed, origin),
        upgrades: () => null,
      }),
    /** Forgets all sessions of MCP, as a restart does. */
    forget: () => {
      door?.close();
      door = null;
    },
    /** An initialized client. */
    async connect(key: string, onQuestion?: (question: string) => string | Promise<string>): Promise<Client> {
      const client = new Client(
        { name: 'test', version: '1' },
        { capabilities: onQuestion === undefined ? {} : { elicitation: {} } },
      );
      if (onQuestion !== undefined) await answerQuestions(client, onQuestion);
      const transport = new StreamableHTTPClientTransport(new URL('http://proxy/mcp'), {
        fetch: fetchOf(served.server),
        requestInit: { headers: { authorization: `Bearer ${key}` } },
      });
      await client.connect(transport);
      clients.push(client);
      return client;
    },
    async close(): Promise<void> {
      for (const client of clients) await client.close();
      door?.close();
    },
  };
};

const fetchOf =
  (server: HttpServer) =>
  async (url: string | URL, init?: RequestInit): Promise<Response> =>
    server.fetch(new Request(url, init));

/** Answers questions of the server with an action such as `accept`. */
export const answerQuestions = async (
  client: Client,
  onQuestion: (question: string) => string | Promise<string>,
): Promise<void> => {
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    const action = await onQuestion(params.message);
    return { action: action as 'accept', ...(action === 'accept' ? { content: {} } : {}) };
  });
};

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

import { consolePage, createConsoleFiles } from '../../../src/features/console/pages.ts';
import { Refused, ScriptedAgents, type Input } from './scripted-agents.ts';

/** The console with an imitation of the Agents API, which follows its contract: sessions run scripts. */
export interface AgentsServer {
  readonly url: string;
  readonly key: string;
  readonly agents: ScriptedAgents;
  /** The Agents API answers as if no workspace was configured. */
  turnOff(): void;
  /** Ends all open streams. While `isRefusing`, new ones are not accepted either. */
  dropStreams(isRefusing?: boolean): void;
  /** How often a stream was opened with the id of a last event. */
  readonly resumed: readonly string[];
  close(): Promise<void>;
}

const KEY = 'sk-agents-0123456789';
const NOT_CONFIGURED =
  'The Agents API is off: no workspace is configured. Add an entry with `workspace` to `mcpServers` in the config file.';

export const startAgentsServer = async (): Promise<AgentsServer> => {
  const agents = new ScriptedAgents();
  const files = createConsoleFiles();
  const streams = new Set<ServerResponse>();
  const resumed: string[] = [];
  let isOff = false;
  let isRefusing = false;

  const events = (id: string, request: IncomingMessage, response: ServerResponse): void => {
    const session = agents.session(id);
    const after = request.headers['last-event-id'];
    const missed = typeof after === 'string' ? session.eventsAfter(after) : [session.stateEvent()];
    if (typeof after === 'string') resumed.push(after);
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.flushHeaders();
    const write = (event: { readonly type: string; readonly event_id: string }): void =>
      void response.write(`id: ${event.event_id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    for (const event of missed) write(event);
    const stop = session.follow(write, () => response.end());
    streams.add(response);
    response.once('close', () => {
      stop();
      streams.delete(response);
    });
  };

  const route = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://console.test');
    const method = request.method ?? 'GET';
    if (url.pathname === '/console/session') return json(response, 200, sessionAnswer(method));
    if (url.pathname.startsWith('/console')) return page(request, url, response, files);
    const body = method === 'POST' ? ((await readBody(request)) as Record<string, unknown>) : {};
    if (url.pathname === '/v1/codex/models') return json(response, 200, MODELS);
    if (url.pathname === '/v1/codex/mcp') return json(response, 200, agents.mcpRows());
    if (isOff && url.pathname.startsWith('/v1/agents'))
      throw new Refused(404, 'endpoint_not_supported', NOT_CONFIGURED);
    const [, , , place = '', id = '', below = '', turnId = ''] = url.pathname.split('/');
    if (place === 'environments') return json(response, 200, agents.environments());
    if (place !== 'sessions') throw new Refused(404, 'unknown_url', 'There is no such address.');
    if (id === '')
      return method === 'POST'
        ? json(response, 200, agents.create(body))
        : json(response, 200, agents.list(url.searchParams));
    const session = agents.session(id);
    if (below === 'events' && method === 'POST') {
      session.input(body['events'] as readonly Input[], String(request.headers['idempotency-key'] ?? ''));
      response.writeHead(202).end();
      return undefined;
    }
    if (below === 'events') {
      if (isRefusing) throw new Refused(503, 'server_overloaded', 'The server is restarting.');
      return events(id, request, response);
    }
    if (below === 'items') return json(response, 200, session.items(url.searchParams));
    if (below === 'turns' && turnId === '') return json(response, 200, session.listTurns(url.searchParams));
    if (method === 'DELETE') return json(response, 200, agents.remove(id));
    return json(response, 200, session.object());
  };

  const server = createServer((request, response) => {
    route(request, response).catch((error: unknown) => {
      const refused = error instanceof Refused ? error : new Refused(500, 'server_error', String(error));
      const { status, code, message } = refused;
      json(response, status, { error: { message, type: 'invalid_request_error', param: null, code } });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    key: KEY,
    agents,
    turnOff() {
      isOff = true;
    },
    dropStreams(refuses = false) {
      isRefusing = refuses;
      for (const stream of streams) stream.destroy();
    },
    resumed,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

const json = (response: ServerResponse, status: number, body: unknown): void => {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1' });
  response.end(JSON.stringify(body));
};

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : JSON.parse(text);
};

/** Everyone is signed in with every scope: other tests are about sessions of the console. */
const sessionAnswer = (method: string) => ({
  object: 'codex.console_session',
  session:
    method === 'DELETE'
      ? null
      : { key_id: 'key_1', name: 'Ada', scopes: ['admin', 'infer', 'read'], expires_at: 4_000_000_000 },
  version: '0.0.0',
});

const page = async (
  request: IncomingMessage,
  url: URL,
  response: ServerResponse,
  files: ReturnType<typeof createConsoleFiles>,
): Promise<void> => {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    if (typeof value === 'string') headers.set(name, value);
  const asked = new Request(`http://${String(request.headers.host)}${url.pathname}`, { headers });
  const answer = await consolePage(asked, url.pathname.slice('/console/'.length), { mode: 'on', files });
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  Readable.fromWeb(answer.body as never).pipe(response);
};

const MODELS = {
  object: 'list',
  data: [
    {
      id: 'gpt-5.5',
      is_default: true,
      hidden: false,
      reasoning_efforts: ['low', 'medium', 'high', 'xhigh'],
      default_reasoning_effort: 'medium',
    },
    {
      id: 'gpt-6.1-sol',
      is_default: false,
      hidden: false,
      reasoning_efforts: null,
      default_reasoning_effort: null,
    },
  ],
};

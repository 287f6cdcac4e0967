import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { sseResponse } from '../../../http/answer/sse-response.ts';
import { ignoredHeader } from '../../../http/answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../../../http/body/read-json.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import type { Route } from '../../../http/route.ts';
import type { TurnDeps } from '../../../http/turn/start-turn.ts';
import { unreadQuery } from '../../../openai/shared/list-page.ts';
import { isJsonObject } from '../../../kit/json/json.ts';
import { quoted } from '../../../kit/text/display.ts';
import type { Frame } from '../../../turns/api.ts';
import { agentError } from '../failures.ts';
import { listPage, askedPage } from './list-pages.ts';
import type { StoredAgentEvent } from './objects.ts';
import { BEGINNING, type AgentCaller, type AgentSessions, type SavedAgents } from './service.ts';
import type { WorkspaceAccess } from '../workspaces/access.ts';

export interface SessionRoutesDeps {
  readonly sessions: AgentSessions;
  readonly agents: SavedAgents;
  readonly bodies: BodyDeps;
  readonly turns: () => TurnDeps;
  readonly access: WorkspaceAccess;
  /** Whether the folder of a workspace is there. */
  readonly isThere: (workspace: Workspace) => Promise<boolean>;
}

type Handle = Route['handle'];

interface Call {
  readonly http: Request;
  readonly exchange: Exchange;
  readonly caller: AgentCaller;
  readonly query: URLSearchParams;
  readonly id: string;
  readonly turnId: string;
}

/** The routes of the Agents API. */
export const sessionRoutes = (deps: SessionRoutesDeps) => ({
  ...sessionItself(deps),
  ...partsOfSession(deps),
  ...environmentRoutes(deps),
  ...savedAgentRoutes(deps),
  ...refusals(
    OWN_ENVIRONMENTS,
    () => 'This endpoint is not supported: workspaces are named by the operator of this server.',
  ),
  ...refusals(AUTOMATIONS, () => 'This endpoint is not supported: this server has no automations.'),
  ...refusals(VAULTS, () => 'This endpoint is not supported: this server has no vaults.'),
});

const readBody = ({ http, exchange }: Call, { bodies }: SessionRoutesDeps, options = {}): Promise<unknown> =>
  readHeldBody(http, exchange, bodies, options);

const json = ({ exchange }: Call, value: unknown, ignored: readonly string[] = []): Promise<Response> =>
  jsonResponse(value, ignoredHeader(ignored), exchange.signal);

/** A part of a list. `filters`: parameters that it reads besides those of every list. */
const page = (call: Call, value: unknown, filters: readonly string[] = []): Promise<Response> =>
  json(call, value, unreadQuery(call.query, ['limit', 'order', 'after', ...filters]));

const savedAgentRoutes = (deps: SessionRoutesDeps) => ({
  'POST /v1/agents': handle(async (call) => {
    const { agent, ignored } = await deps.agents.create(call.caller, await readBody(call, deps));
    return json(call, agent, ignored);
  }),
  'GET /v1/agents': handle(async (call) => page(call, await deps.agents.list(call.caller, call.query))),
  'GET /v1/agents/:id': handle(async (call) => json(call, await deps.agents.retrieve(call.caller, call.id))),
  'POST /v1/agents/:id': handle(async (call) => {
    const { agent, ignored } = await deps.agents.update(
      call.caller,
      call.id,
      await readBody(call, deps, { ifEmpty: {} }),
    );
    return json(call, agent, ignored);
  }),
  'DELETE /v1/agents/:id': handle(async (call) => {
    await deps.agents.delete(call.caller, call.id);
    return Response.json({ id: call.id, object: 'agent.deleted', deleted: true });
  }),
});

const sessionItself = (deps: SessionRoutesDeps) => {
  const { sessions } = deps;
  return {
    'POST /v1/agents/sessions': handle(async (call) => createSession(call, await readBody(call, deps), deps)),
    'GET /v1/agents/sessions': handle(async (call) =>
      page(call, await sessions.list(call.caller, call.query), ['agent_id', 'metadata']),
    ),
    'GET /v1/agents/sessions/:id': handle(async (call) =>
      json(call, await sessions.retrieve(call.caller, call.id)),
    ),
    'POST /v1/agents/sessions/:id': handle(async (call) => {
      const { session, ignored } = await sessions.update(
        call.caller,
        call.id,
        await readBody(call, deps, { ifEmpty: {} }),
      );
      return json(call, session, ignored);
    }),
    'DELETE /v1/agents/sessions/:id': handle(async (call) => {
      await sessions.delete(call.caller, call.id);
      return Response.json({ id: call.id, object: 'agent.session.deleted', deleted: true });
    }),
    'POST /v1/agents/sessions/:id/events': handle(async (call) => {
      const key = call.http.headers.get('idempotency-key');
      const body = await readBody(call, deps);
      await sessions.input(call.caller, call.id, body, key === null ? {} : { idempotencyKey: key });
      return new Response(null, { status: 202 });
    }),
    'GET /v1/agents/sessions/:id/events': handle(async (call) => {
      const after = call.http.headers.get('last-event-id') ?? call.query.get('after');
      const events = await sessions.follow(call.caller, call.id, { after: after === '' ? null : after });
      return streamOf(call, events, deps);
    }),
  };
};

const partsOfSession = ({ sessions }: SessionRoutesDeps) => {
  const emptyList = handle(async (call) => {
    await sessions.retrieve(call.caller, call.id);
    return page(
      call,
      listPage<Listed, Listed>([], askedPage(call.query), (one) => one),
    );
  });
  const without = (kind: 'unknown_subagent' | 'unknown_artifact') =>
    handle(async (call) => {
      await sessions.retrieve(call.caller, call.id);
      throw agentError(kind);
    });
  return {
    'GET /v1/agents/sessions/:id/items': handle(async (call) =>
      page(call, await sessions.items(call.caller, call.id, null, call.query)),
    ),
    'GET /v1/agents/sessions/:id/turns': handle(async (call) =>
      page(call, await sessions.turns(call.caller, call.id, call.query)),
    ),
    'GET /v1/agents/sessions/:id/turns/:turn_id': handle(async (call) =>
      json(call, await sessions.turn(call.caller, call.id, call.turnId)),
    ),
    'GET /v1/agents/sessions/:id/turns/:turn_id/items': handle(async (call) =>
      page(call, await sessions.items(call.caller, call.id, call.turnId, call.query)),
    ),
    'GET /v1/agents/sessions/:id/subagents': emptyList,
    'GET /v1/agents/sessions/:id/subagents/*': without('unknown_subagent'),
    'GET /v1/agents/sessions/:id/artifacts': emptyList,
    'GET /v1/agents/sessions/:id/artifacts/*': without('unknown_artifact'),
    'DELETE /v1/agents/sessions/:id/artifacts/*': without('unknown_artifact'),
    'GET /v1/agents/sessions/:id/traces': emptyList,
  };
};

interface Listed {
  readonly id: string;
}

const environmentRoutes = (deps: SessionRoutesDeps) => ({
  'GET /v1/agents/environments': handle(async (call) => page(call, await environments(call, deps))),
  'GET /v1/agents/environments/:id': handle(async (call) => {
    const found = deps.access.usableBy(call.caller.keyId).find(({ label }) => `env_${label}` === call.id);
    if (found === undefined) throw unknownEnvironment(call.id);
    return json(call, await environment(found, deps));
  }),
});

const OWN_ENVIRONMENTS = [
  'POST /v1/agents/environments',
  'POST /v1/agents/environments/:id/files',
  'GET /v1/agents/environments/:id/files',
  'POST /v1/agents/environments/templates/*',
  'GET /v1/agents/environments/templates/*',
  'DELETE /v1/agents/environments/templates/*',
] as const;

const AUTOMATIONS = [
  'POST /v1/agents/automations/*',
  'GET /v1/agents/automations/*',
  'DELETE /v1/agents/automations/*',
] as const;

const VAULTS = ['POST /v1/vaults/*', 'GET /v1/vaults/*', 'DELETE /v1/vaults/*'] as const;

type RouteName = `${Route['method']} ${string}`;

const refusals = <Name extends RouteName>(
  names: readonly Name[],
  message: () => string,
): Readonly<Record<Name, Handle>> => {
  const refuse: Handle = () => {
    throw gatewayError('endpoint_not_supported', { message: message() });
  };
  return Object.fromEntries(names.map((name) => [name, refuse])) as Record<Name, Handle>;
};

/** Every route of the API refuses in the same way. */
export const closedRoutes = (names: readonly string[], why: string): Readonly<Record<string, Handle>> =>
  refusals(names as readonly RouteName[], () => why);

const handle =
  (answer: (call: Call) => Promise<Response>): Handle =>
  (http, exchange, { id = '', turn_id: turnId = '' }) => {
    const caller = { keyId: exchange.caller(), requestId: exchange.requestId, signal: exchange.signal };
    return answer({ http, exchange, caller, query: new URL(http.url).searchParams, id, turnId });
  };

const createSession = async (call: Call, body: unknown, deps: SessionRoutesDeps): Promise<Response> => {
  const { caller, exchange } = call;
  const { session, ignored, turnId } = await deps.sessions.create(caller, body);
  if (!isJsonObject(body) || body['stream'] !== true) {
    return jsonResponse(session, ignoredHeader(ignored), exchange.signal);
  }
  const events = await deps.sessions.follow(caller, session.id, {
    after: BEGINNING,
    untilTurn: turnId,
  });
  return streamOf(call, events, deps, ignoredHeader(ignored));
};

const environments = async ({ caller, query }: Call, deps: SessionRoutesDeps) => {
  const asked = askedPage(query);
  const { after, order, limit } = asked;
  const all = deps.access.usableBy(caller.keyId).toSorted((one, other) => (one.label < other.label ? -1 : 1));
  const ordered = order === 'asc' ? all : all.toReversed();
  const at = after === null ? -1 : ordered.findIndex(({ label }) => `env_${label}` === after);
  const found = after !== null && at === -1 ? null : ordered.slice(at + 1, at + 2 + limit);
  const shown = found === null ? null : await Promise.all(found.map((one) => environment(one, deps)));
  return listPage(shown, asked, (one) => one);
};

const environment = async ({ label, ...workspace }: Workspace, { isThere }: SessionRoutesDeps) => ({
  id: `env_${label}`,
  object: 'agent.environment' as const,
  type: 'self_hosted' as const,
  status: (await isThere({ label, ...workspace })) ? ('connected' as const) : ('failed' as const),
  files: [],
  plugins: [],
  skills: [],
});

const unknownEnvironment = (id: string) =>
  agentError('unknown_environment', { message: `Environment with id '${quoted(id)}' not found.` });

/** The client may leave: its turns go on. */
const streamOf = (
  { exchange }: Call,
  events: AsyncIterable<StoredAgentEvent>,
  { turns }: SessionRoutesDeps,
  headers: Readonly<Record<string, string>> = {},
): Response => {
  const { keepaliveMs, onBug } = turns();
  exchange.note({ stream: true });
  return sseResponse(framesOf(events), {
    keepaliveMs: Math.min(keepaliveMs, KEEPALIVE_MS),
    headers,
    onGone: () => exchange.abort(),
    onEnd: exchange.hold(),
    onBug: (error) => onBug(error, exchange),
    endOfBroken: null,
  });
};

const KEEPALIVE_MS = 15_000;

/** The readers of a session get the same events. */
const written = new WeakMap<StoredAgentEvent, string>();

const textOf = (event: StoredAgentEvent): string => {
  const text = `id: ${event.event_id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
  written.set(event, text);
  return text;
};

async function* framesOf(events: AsyncIterable<StoredAgentEvent>): AsyncGenerator<Frame> {
  for await (const event of events) {
    const text = written.get(event) ?? textOf(event);
    yield { event: event.type, data: null, text };
  }
}

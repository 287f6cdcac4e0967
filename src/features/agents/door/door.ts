import { failureOf, GatewayError } from '../../../canonical/failure/failure.ts';
import type { Core } from '../../../compose/feature.ts';
import { jsonResponse } from '../../../http/answer/json-response.ts';
import { sseResponse } from '../../../http/answer/sse-response.ts';
import { readHeldBody } from '../../../http/body/read-json.ts';
import type { Exchange } from '../../../http/exchange/exchange.ts';
import type { Route } from '../../../http/route.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../kit/json/json.ts';
import { VERSION } from '../../../version.ts';
import { codexTools, type CodexToolDeps } from './codex-tools.ts';
import {
  errorMessage,
  isMcpId,
  isMcpVersion,
  MCP_ERRORS,
  MCP_VERSIONS,
  McpProtocolError,
  readMessage,
  resultMessage,
  takesBatches,
  UNNAMED_VERSION,
  type McpMessage,
  type McpRequest,
  type McpVersion,
} from './mcp-messages.ts';
import { CancelledByClient, McpSessions, MessageStream, type McpSession } from './mcp-sessions.ts';
import { ToolProblem, type DoorTool, type ToolCallScope } from './tool.ts';
import { turnTools } from './turn-tools.ts';

const SESSION_HEADER = 'mcp-session-id';
const VERSION_HEADER = 'mcp-protocol-version';

/** More than clients send, which is one. */
const MAX_BATCH = 50;

export interface DoorDeps extends CodexToolDeps {
  readonly core: Core;
  /** How long a turn waits for an approval. */
  readonly approvalMs: number;
}

export interface McpDoor {
  readonly routes: Readonly<Record<'DELETE /mcp' | 'GET /mcp' | 'POST /mcp', Route['handle']>>;
  /** Ends what would keep the server from stopping. */
  drain(): void;
  close(): void;
}

/** `/mcp`: tools of this server for clients of the Model Context Protocol, over Streamable HTTP. */
export const openDoor = (deps: DoorDeps): McpDoor => {
  const clients = new McpSessions(deps.core.ambient);
  const tools = [...codexTools(deps), ...turnTools(deps.core)];
  const door: Door = { ...deps, clients, tools: new Map(tools.map((tool) => [tool.name, tool])) };
  return {
    routes: {
      'POST /mcp': (http, exchange) => answering(exchange, door, () => post(http, exchange, door)),
      'GET /mcp': (http, exchange) => answering(exchange, door, async () => channel(http, exchange, door)),
      'DELETE /mcp': (http, exchange) =>
        answering(exchange, door, async () => endSession(http, exchange, door)),
    },
    drain: () => clients.drain(),
    close: () => clients.close(),
  };
};

interface Door extends DoorDeps {
  readonly clients: McpSessions;
  readonly tools: ReadonlyMap<string, DoorTool>;
}

/** A request that is refused as a whole, before its messages are read. */
class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, code: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

/** Clients of MCP read errors as JSON-RPC. */
const answering = async (
  exchange: Exchange,
  { core }: Door,
  answer: () => Promise<Response>,
): Promise<Response> => {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof Refusal) {
      const { status, code, message, headers } = error;
      return Response.json(errorMessage(null, code, message), { status, headers });
    }
    if (exchange.signal.aborted) throw error;
    const { kind, status, message, headers } = core.exchanges().failed(exchange, error);
    const code = kind === 'invalid_json' ? MCP_ERRORS.parse : MCP_ERRORS.refused;
    return Response.json(errorMessage(null, code, message), { status, headers });
  }
};

const sessionOf = (http: Request, exchange: Exchange, { clients }: Door): McpSession | null => {
  const id = http.headers.get(SESSION_HEADER);
  if (id === null) return null;
  const session = clients.find(id, exchange.caller());
  if (session !== null) return session;
  throw new Refusal(404, MCP_ERRORS.unknownSession, 'Session not found: initialize again.');
};

/** Null: the request names none. */
const versionIn = ({ headers }: Request): McpVersion | null => {
  const named = headers.get(VERSION_HEADER);
  if (named === null) return null;
  if (isMcpVersion(named)) return named;
  const known = MCP_VERSIONS.join(', ');
  throw new Refusal(
    400,
    MCP_ERRORS.refused,
    `Unsupported protocol version in ${VERSION_HEADER}. Supported: ${known}.`,
  );
};

const channel = (http: Request, exchange: Exchange, door: Door): Response => {
  versionIn(http);
  const session = sessionOf(http, exchange, door);
  if (session === null) {
    throw new Refusal(
      405,
      MCP_ERRORS.refused,
      `This server opens a stream only for a session: send ${SESSION_HEADER}.`,
      { allow: 'POST' },
    );
  }
  const stream = session.openChannel();
  const close = (): void => session.closeChannel(stream);
  exchange.signal.addEventListener('abort', close, { once: true });
  exchange.atEnd(close);
  return streamed(stream, session, exchange, door);
};

const endSession = (http: Request, exchange: Exchange, door: Door): Response => {
  const session = sessionOf(http, exchange, door);
  if (session === null) throw new Refusal(400, MCP_ERRORS.refused, `${SESSION_HEADER} is missing.`);
  door.clients.end(session);
  return new Response(null, { status: 204 });
};

const streamed = (
  stream: MessageStream,
  session: McpSession | null,
  exchange: Exchange,
  { core }: Door,
): Response => {
  const { keepaliveMs, onBug } = core.turns();
  return sseResponse(stream.frames(), {
    keepaliveMs,
    headers: session === null ? {} : { [SESSION_HEADER]: session.facts.id },
    onGone: () => exchange.abort(),
    onEnd: exchange.hold(),
    onBug: (error) => onBug(error, exchange),
    endOfBroken: null,
  });
};

const post = async (http: Request, exchange: Exchange, door: Door): Promise<Response> => {
  const body = await readHeldBody(http, exchange, door.core.bodies);
  const named = versionIn(http);
  const session = sessionOf(http, exchange, door);
  const version = session?.facts.version ?? named ?? UNNAMED_VERSION;
  const messages = readMessages(body, version);
  const requests = messages.filter(({ kind }) => kind === 'request' || kind === 'invalid');
  const [first] = messages;
  if (messages.some(isInitialize)) {
    if (Array.isArray(body) || first?.kind !== 'request' || session !== null)
      throw new Refusal(400, MCP_ERRORS.invalidRequest, 'initialize is a message of its own, and the first.');
    return initialize(first, exchange, door);
  }
  for (const message of messages) noteMessage(message, session);
  if (requests.length === 0) return new Response(null, { status: 202 });
  const isStream = messages.some(isToolCall) && acceptsStream(http);
  const stream = isStream ? new MessageStream() : null;
  const serving: Serving = { http, exchange, door, session, stream };
  const served = requests.map((message) => serve(message, serving));
  if (stream !== null) return streamAnswers(served, stream, serving);
  const answers = (await Promise.all(served)).filter((answer) => answer !== null);
  // Everything was cancelled.
  if (answers.length === 0) return new Response(null, { status: 202 });
  const [only] = answers;
  const isInvalid = requests.every(({ kind }) => kind === 'invalid');
  const answer = Array.isArray(body) ? answers : only;
  if (isInvalid) return Response.json(answer, { status: 400 });
  return jsonResponse(answer, {}, exchange.signal);
};

const streamAnswers = (
  served: readonly Promise<JsonObject | null>[],
  stream: MessageStream,
  { session, exchange, door }: Serving,
): Response => {
  const sent = served.map(async (one) => {
    const answer = await one;
    if (answer !== null) stream.finish(answer);
  });
  void Promise.allSettled(sent).then(() => stream.end());
  return streamed(stream, session, exchange, door);
};

const readMessages = (body: unknown, version: McpVersion): readonly McpMessage[] => {
  if (!Array.isArray(body)) return [readMessage(body)];
  const refusal = (problem: string): Refusal => new Refusal(400, MCP_ERRORS.invalidRequest, problem);
  if (!takesBatches(version)) throw refusal(`Protocol version ${version} has no batches: send one message.`);
  if (body.length === 0) throw refusal('The batch is empty.');
  if (body.length > MAX_BATCH) throw refusal(`A batch has at most ${MAX_BATCH} messages.`);
  return body.map(readMessage);
};

const isInitialize = (message: McpMessage): boolean =>
  message.kind === 'request' && message.method === 'initialize';

const isToolCall = (message: McpMessage): boolean =>
  message.kind === 'request' && message.method === 'tools/call';

const acceptsStream = ({ headers }: Request): boolean =>
  headers.get('accept')?.includes('text/event-stream') ?? false;

/** What has no answer. Without a session there is nothing that it could be about. */
const noteMessage = (message: McpMessage, session: McpSession | null): void => {
  if (message.kind === 'answer') session?.answered(message);
  if (message.kind !== 'notification' || message.method !== 'notifications/cancelled') return;
  const { requestId } = message.params;
  if (isMcpId(requestId)) session?.cancel(requestId);
};

const CODEX_INSTRUCTIONS =
  'codex works in a folder of the server and answers when it is done, which may take many minutes; codex-reply continues it.';
const TURN_INSTRUCTIONS = 'ask answers a question without any tools, and review reviews a diff.';

const initialize = (
  { id, params }: McpRequest,
  exchange: Exchange,
  { clients, tools }: Door,
): Promise<Response> => {
  const { protocolVersion, capabilities } = params;
  if (typeof protocolVersion !== 'string')
    throw new Refusal(400, MCP_ERRORS.invalidParams, "Missing parameter: 'protocolVersion'.");
  const version = isMcpVersion(protocolVersion) ? protocolVersion : MCP_VERSIONS[0];
  const canElicit = isJsonObject(capabilities) && showsForms(capabilities['elicitation']);
  const session = clients.open({ keyId: exchange.caller(), version, canElicit });
  if (session === null) {
    throw new Refusal(429, MCP_ERRORS.refused, 'Too many MCP sessions are busy. Please try again later.', {
      'retry-after': '5',
    });
  }
  const result = {
    protocolVersion: version,
    capabilities: { tools: {} },
    serverInfo: { name: 'codex-app-server-proxy', version: VERSION },
    instructions: [
      ...(tools.get('codex')?.isFor(exchange.caller()) === true ? [CODEX_INSTRUCTIONS] : []),
      TURN_INSTRUCTIONS,
    ].join(' '),
  };
  return jsonResponse(resultMessage(id, result), { [SESSION_HEADER]: session.facts.id }, exchange.signal);
};

/** A client that names no kind of elicitation has forms. */
const showsForms = (elicitation: Json | undefined): boolean =>
  isJsonObject(elicitation) && (Object.keys(elicitation).length === 0 || elicitation['form'] !== undefined);

interface Serving {
  readonly http: Request;
  readonly exchange: Exchange;
  readonly door: Door;
  readonly session: McpSession | null;
  /** Null: the answer is JSON. */
  readonly stream: MessageStream | null;
}

/** Answers one request. Null: it was cancelled, and gets no answer. Never rejects. */
const serve = async (message: McpMessage, serving: Serving): Promise<JsonObject | null> => {
  if (message.kind === 'invalid')
    return errorMessage(message.id, MCP_ERRORS.invalidRequest, `Invalid message: ${message.problem}.`);
  if (message.kind !== 'request') return null;
  try {
    const result = await resultOf(message, serving);
    return result === null ? null : resultMessage(message.id, result);
  } catch (error) {
    if (error instanceof McpProtocolError) return errorMessage(message.id, error.code, error.message);
    const { exchange, door } = serving;
    const failed = door.core.exchanges().failed(exchange, error);
    return errorMessage(message.id, MCP_ERRORS.refused, failed.message);
  }
};

const resultOf = async (request: McpRequest, serving: Serving): Promise<JsonObject | null> => {
  switch (request.method) {
    case 'ping':
      return {};
    case 'tools/list':
      return listTools(request, serving);
    case 'tools/call':
      return callTool(request, serving);
    default:
      throw new McpProtocolError(MCP_ERRORS.unknownMethod, 'This server does not have this method.');
  }
};

const listTools = ({ params }: McpRequest, { exchange, door }: Serving): JsonObject => {
  if (typeof params['cursor'] === 'string')
    throw new McpProtocolError(MCP_ERRORS.invalidParams, 'Unknown cursor: the list has one page.');
  const tools = [...door.tools.values()].filter((tool) => tool.isFor(exchange.caller()));
  return { tools: tools.map(({ name, listed }) => ({ name, ...listed })) };
};

const callTool = async (request: McpRequest, serving: Serving): Promise<JsonObject | null> => {
  const { exchange, door, session } = serving;
  const { name, arguments: given } = request.params;
  const args = given ?? {};
  const tool = typeof name === 'string' ? door.tools.get(name) : undefined;
  if (tool === undefined || !tool.isFor(exchange.caller()))
    throw new McpProtocolError(
      MCP_ERRORS.invalidParams,
      'Unknown tool: tools/list has the tools of this key.',
    );
  if (!isJsonObject(args))
    throw new McpProtocolError(MCP_ERRORS.invalidParams, "'arguments' has to be an object.");
  const call = new AbortController();
  const leave = (): void => call.abort(exchange.signal.reason);
  exchange.signal.addEventListener('abort', leave, { once: true });
  if (exchange.signal.aborted) leave();
  const ended = session?.begin(request.id, call);
  if (ended === null)
    throw new McpProtocolError(MCP_ERRORS.invalidRequest, 'A request with this id is running.');
  try {
    call.signal.throwIfAborted();
    const { text, structured } = await tool.call(args, scopeOf(request, call.signal, serving));
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    return toolError(error, call.signal, serving);
  } finally {
    exchange.signal.removeEventListener('abort', leave);
    ended?.();
  }
};

/** Null: the client does not wait for the answer any more. */
const toolError = (error: unknown, signal: AbortSignal, { exchange, door }: Serving): JsonObject | null => {
  const isOver = signal.aborted && !(signal.reason instanceof GatewayError);
  if (isOver || signal.reason instanceof CancelledByClient) return null;
  if (error instanceof McpProtocolError) throw error;
  if (error instanceof ToolProblem) return failedResult(error.message);
  const failed =
    error instanceof GatewayError ? failureOf(error) : door.core.exchanges().failed(exchange, error);
  return failedResult(failed.message);
};

const failedResult = (text: string): JsonObject => ({ content: [{ type: 'text', text }], isError: true });

const scopeOf = ({ params }: McpRequest, signal: AbortSignal, serving: Serving): ToolCallScope => {
  const { http, exchange, session, stream } = serving;
  const meta = isJsonObject(params['_meta']) ? params['_meta'] : {};
  const { progressToken } = meta;
  let progress = 0;
  return {
    keyId: exchange.caller(),
    exchange,
    headers: http.headers,
    signal,
    progress(message) {
      if (session === null || !isMcpId(progressToken)) return;
      progress += 1;
      stream?.send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress, message },
      });
    },
    ask: askerOf(serving),
  };
};

/** The turn stops to wait a little later than this. */
const PART_OF_WAIT = 0.9;

/** Null: the client has no session, or cannot show a form. */
const askerOf = ({ session, stream, door }: Serving): ToolCallScope['ask'] => {
  if (session?.facts.canElicit !== true) return null;
  const timeoutMs = Math.floor(door.approvalMs * PART_OF_WAIT);
  return async (message, signal) => {
    const params = { message, requestedSchema: { type: 'object', properties: {} } };
    const answer = await session.ask({ method: 'elicitation/create', params, stream, timeoutMs, signal });
    return answer?.['action'] === 'accept';
  };
};

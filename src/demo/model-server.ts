import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { isJsonObject, type Json, type JsonObject } from '../kit/json/json.ts';
import { readJsonSteps } from '../kit/json/json-reader.ts';
import { runSliced } from '../kit/async/event-loop.ts';
import { openConnection, type Ending, type ModelConnection, type ModelRequest } from './connection.ts';

/** Answers one model request. The stream ends when the script returns, unless the script has ended it. */
export type Script = (request: ModelRequest, connection: ModelConnection) => Promise<void> | void;

export interface RecordedRequest {
  readonly body: JsonObject;
  readonly headers: IncomingHttpHeaders;
  /** The caller disconnected before the answer was complete. */
  readonly aborted: boolean;
  /** Null while the exchange runs. */
  readonly ending: Ending | null;
  readonly ended: Promise<Ending>;
}

export interface ModelServerOptions {
  readonly script: Script;
  /** Default: any free port. */
  readonly port?: number;
  readonly record?: (request: RecordedRequest) => void;
  /** How many of the newest requests `requests` holds. Default 0: bodies can be large. */
  readonly keepRequests?: number;
  /** Response to `GET /models`; null: 404. Default: one model, `demo`. */
  readonly models?: Json | null;
  /** Called when a script throws. Default: emits a process warning. */
  readonly onScriptError?: (error: unknown) => void;
}

export interface ModelServer {
  /** The value for a provider's `base_url`. */
  readonly baseUrl: string;
  /** Oldest first; see `keepRequests`. */
  readonly requests: readonly RecordedRequest[];
  /** Number of open sockets, including idle ones. */
  openConnections(): number;
  /** Number of model requests in progress. */
  activeRequests(): number;
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 128 * 1024 * 1024;

/**
 * Longer than the 90 seconds for which app-server keeps an idle connection. If the server closed first,
 * a reused connection could fail.
 */
const KEEP_ALIVE_MS = 120_000;

const MODELS = {
  object: 'list',
  data: [{ id: 'demo', object: 'model', created: 0, owned_by: 'codex-app-server-proxy' }],
};

/** Starts a Responses API on loopback for app-server to call. The script decides what it answers. */
export const startModelServer = async (options: ModelServerOptions): Promise<ModelServer> => {
  const kept: RecordedRequest[] = [];
  const keep = options.keepRequests ?? 0;
  const onScriptError = options.onScriptError ?? warn;
  const models = options.models === undefined ? MODELS : options.models;
  let active = 0;
  let sockets = 0;

  const record = (request: RecordedRequest): void => {
    options.record?.(request);
    if (keep === 0) return;
    kept.push(request);
    if (kept.length > keep) kept.shift();
  };

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(incoming);
    if ('refusal' in body) return refuse(response, body.status, body.refusal, body.param);
    const { connection, ended } = openConnection({ body: body.value, headers: incoming.headers }, response);
    record(recordOf(connection.request, ended));
    active += 1;
    try {
      await options.script(connection.request, connection);
      connection.end();
    } catch (error) {
      onScriptError(error);
      if (response.headersSent) connection.destroy();
      else connection.reply(500, modelErrorBody('The script failed.', 'server_error', null, null));
    }
    await ended;
    active -= 1;
  };

  const server = createServer((incoming, response) => {
    const route = `${incoming.method ?? ''} ${(incoming.url ?? '').split('?', 1)[0] ?? ''}`;
    if (route === 'POST /v1/responses') {
      answer(incoming, response).catch((error: unknown) => {
        // The caller disconnected while it was still sending, so there is no one to answer.
        if (!incoming.complete) response.destroy();
        else onScriptError(error);
      });
    } else if (route === 'GET /v1/models' && models !== null) sendJson(response, 200, models);
    else refuse(response, 404, `Unknown request URL: ${route}.`, null, 'unknown_url');
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.requestTimeout = 0;
  server.on('connection', (socket) => {
    sockets += 1;
    // Nagle's algorithm would delay small writes.
    socket.setNoDelay(true);
    socket.once('close', () => {
      sockets -= 1;
    });
  });

  const listening = Promise.withResolvers<void>();
  // Never removed: a later accept error (EMFILE) must not end the process.
  server.on('error', listening.reject);
  server.listen(options.port ?? 0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the model server has no port');

  return {
    baseUrl: `http://127.0.0.1:${address.port}/v1`,
    requests: kept,
    openConnections: () => sockets,
    activeRequests: () => active,
    close: () =>
      new Promise((resolve) => {
        // The only possible error is "not running": the server is closed already.
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const recordOf = (request: ModelRequest, ended: Promise<Ending>): RecordedRequest => {
  let ending: Ending | null = null;
  const noted = ended.then((how) => {
    ending = how;
    return how;
  });
  return {
    body: request.body,
    headers: request.headers,
    ended: noted,
    get ending() {
      return ending;
    },
    get aborted() {
      return request.signal.aborted;
    },
  };
};

type Body =
  | { readonly value: JsonObject }
  | { readonly refusal: string; readonly status: number; readonly param: string | null };

const readBody = async (incoming: IncomingMessage): Promise<Body> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Read to the end even if the body is too large: clients often miss an answer sent before they finish sending.
    if (bytes <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_BODY_BYTES) return { refusal: 'The request body is too large.', status: 413, param: null };
  const encoding = incoming.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity')
    return { refusal: `Content-Encoding ${encoding} is not understood here.`, status: 415, param: null };
  const value = await parseObject(Buffer.concat(chunks));
  if (value === null) return { refusal: 'The body is not a JSON object.', status: 400, param: null };
  if (value['stream'] !== true) return { refusal: 'This server only streams.', status: 400, param: 'stream' };
  return { value };
};

const parseObject = async (bytes: Uint8Array): Promise<JsonObject | null> => {
  try {
    const value = await runSliced(readJsonSteps(bytes), null);
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
};

/** An error body in OpenAI's form: all four keys are always present. */
export const modelErrorBody = (
  message: string,
  type: string,
  param: string | null,
  code: string | null,
): JsonObject => ({ error: { message, type, param, code } });

const refuse = (
  response: ServerResponse,
  status: number,
  message: string,
  param: string | null,
  code: string | null = null,
): void => sendJson(response, status, modelErrorBody(message, 'invalid_request_error', param, code));

const sendJson = (response: ServerResponse, status: number, body: Json): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};

const warn = (error: unknown): void => {
  process.emitWarning(error instanceof Error ? error : String(error), 'ModelScriptWarning');
};

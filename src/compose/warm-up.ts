import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';

import { connectAppServer, type AppServer } from '../codex/app-server.ts';
import { Refusals } from '../codex/capabilities/refusals.ts';
import type { BackendTarget } from '../codex/home/backend.ts';
import { cleanCatalogue } from '../codex/home/catalogue.ts';
import { newSecret } from '../codex/loopback.ts';
import { uuidV7 } from '../codex/relay/request/affinity.ts';
import type { LineTransport } from '../codex/rpc/transport.ts';
import type { WorkerLeases } from '../codex/worker/supervisor.ts';
import type { Config } from '../config/schema.ts';
import { answer } from '../demo/answer.ts';
import { demoSteps } from '../demo/demo-script.ts';
import { startModelServer } from '../demo/model-server.ts';
import { createCodexAccount } from '../engine/codex-account.ts';
import { NO_MCP } from '../engine/mcp/mcp-tools.ts';
import { ReasoningOrigins } from '../engine/memory/reasoning-origins.ts';
import { createModelDirectory } from '../engine/model-directory.ts';
import { listen } from '../http/listen/listen.ts';
import { systemAmbient } from '../kit/ambient.ts';
import { pause } from '../kit/async/wait.ts';
import { listIn, textIn, type Json, type JsonObject } from '../kit/json/json.ts';
import { BackendWatch } from '../observe/backend-health.ts';
import { CodexWatch } from '../observe/codex-watch.ts';
import { createLogger } from '../observe/log.ts';
import { createMetrics } from '../observe/metrics.ts';
import { rpcMetrics } from '../observe/rpc-metrics.ts';
import { KeyIds } from '../store/key-ids.ts';
import { CacheIds } from '../store/memory/cache-ids.ts';
import { TextSigner } from '../store/text-signer.ts';
import { TESTED_CODEX, VERSION } from '../version.ts';
import type { ActiveBackend } from './active-backend.ts';
import { driverDeps, engineOf, openReasoningMemory, openUnreadTotal, wiringOf } from './backend.ts';
import { openServer, type Base } from './core.ts';
import { apisOf } from './endpoints.ts';
import { ALL_METRICS, STORELESS } from './features.ts';
import { OpenParts } from './open-features.ts';
import { placeRelay } from './relay.ts';

/** What a caller of the warm-up decides, and tests. */
export interface WarmUpHooks {
  /** Called before each synthetic request, with its number. */
  readonly beforeEach?: (index: number) => Promise<void> | void;
  readonly requests?: number;
  readonly maxCpuMs?: number;
}

export interface WarmUpOptions extends WarmUpHooks {
  readonly base: Base;
  /** When a client last waited for an answer of the server, which may be now. */
  readonly lastClientAt: () => number;
  /** Aborted when the server stops. */
  readonly signal: AbortSignal;
}

export interface WarmUpEnd {
  /** Number of synthetic requests. */
  readonly requests: number;
  /** CPU time of this process during them, with that of its compiler. */
  readonly cpuMs: number;
  /** `late`: the server was busy all the time, so its code is compiled anyway. */
  readonly reason: 'done' | 'stopped' | 'out-of-budget' | 'late' | 'failed';
}

/** What a start still does by then is done. */
const START_AFTER_MS = 500;
/** The first sixty save most. */
const REQUESTS = 90;
/** Enough for slow machines. */
const MAX_CPU_MS = 3_000;
const MAX_MS = 5 * 60_000;
/** For one synthetic request: one that hangs would keep the second server open. */
const MAX_REQUEST_MS = 30_000;
/** How often a busy server is looked at. */
const LOOK_EVERY_MS = 50;
/** After a request of a client the next one is likely. */
const QUIET_MS = 1_000;

/**
 * Sends synthetic requests through a second server in this process, so that those of clients find their code compiled. It
 * is made of the same parts as the first, and what a request leaves behind is its own and goes with it: metrics, log, usage,
 * request log, memories. Its backend is the demo model, and its app-server answers like a real one, but has no process. It
 * runs while no client waits. Never rejects.
 */
export const runWarmUp = async (options: WarmUpOptions): Promise<WarmUpEnd> => {
  const { base, lastClientAt, signal, beforeEach, requests = REQUESTS, maxCpuMs = MAX_CPU_MS } = options;
  const { clock } = systemAmbient;
  const parts = new OpenParts((err, part) =>
    base.logger.debug({ err, part }, 'warm-up: could not be closed'),
  );
  let sent = 0;
  let cpuMs = 0;
  const lateAt = clock.now() + MAX_MS;
  const quiet = async (): Promise<void> => {
    while (clock.now() - lastClientAt() < QUIET_MS && clock.now() < lateAt)
      await pause(LOOK_EVERY_MS, signal);
  };
  const run = async (): Promise<WarmUpEnd['reason']> => {
    await pause(START_AFTER_MS, signal);
    let send: SendRequest | null = null;
    for (; sent < requests; sent += 1) {
      await beforeEach?.(sent);
      await quiet();
      if (clock.now() >= lateAt) return 'late';
      if (cpuMs > maxCpuMs) return 'out-of-budget';
      const startedAt = clock.now();
      const usedBefore = process.cpuUsage();
      send ??= await openSyntheticServer(base, parts);
      await send(sent, signal);
      const { user, system } = process.cpuUsage(usedBefore);
      cpuMs += (user + system) / 1000;
      // At least half of the time is for others.
      await pause(clock.now() - startedAt, signal);
    }
    return 'done';
  };
  const reason = await run().catch((err: unknown) => {
    if (signal.aborted) return 'stopped' as const;
    base.logger.info({ err }, 'the warm-up failed');
    return 'failed' as const;
  });
  await parts.close();
  const end = { requests: sent, cpuMs: Math.round(cpuMs), reason };
  base.logger.info(end, 'warm-up ended');
  return end;
};

/** Sends the synthetic request of this number, and reads its answer. */
type SendRequest = (index: number, signal: AbortSignal) => Promise<void>;

const openSyntheticServer = async (real: Base, parts: OpenParts): Promise<SendRequest> => {
  const key = newSecret();
  const base = syntheticBase(real, key);
  const { http } = await openServer(base, {
    // Their routes have places among those of the others.
    features: STORELESS.map((one) => ({ ...one, routes: {} })),
    parts,
    openBackend: () => openDemoBackend(base, parts),
  });
  const { url } = parts.add('listener', await listen(http.fetch, base.config.http));
  const agent = new Agent({ keepAlive: true });
  parts.add('client', { close: () => agent.destroy() });
  return async (index, signal) => {
    const [path = '', body] = SYNTHETIC[index % SYNTHETIC.length] ?? [];
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const limited = AbortSignal.any([signal, AbortSignal.timeout(MAX_REQUEST_MS)]);
    const { status, text } = await post(url + path, JSON.stringify(body), {
      agent,
      headers,
      signal: limited,
    });
    if (status !== 200) throw new Error(`the answer to a synthetic request: ${status} ${text}`);
  };
};

const post = async (
  url: string,
  body: string,
  options: Pick<RequestOptions, 'agent' | 'headers' | 'signal'>,
): Promise<{ readonly status: number; readonly text: string }> => {
  const sent = httpRequest(url, { ...options, method: 'POST' });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response.setEncoding('utf8') as AsyncIterable<string>) text += chunk;
  return { status: response.statusCode ?? 0, text };
};

/** Messages counts its input. The thread that does it otherwise keeps 90 MB of tables. */
const ESTIMATES: Base['threads']['tokenizer'] = {
  warmUp() {},
  count: async (text) => Math.ceil(text.length / 4),
  countTexts: async (texts) => Math.ceil(texts.join('').length / 4),
  head: async (text) => text,
  textOf: async () => null,
  close: async () => {},
};

/** The parts that the servers share, and in place of the others parts that no one else sees. */
const syntheticBase = (real: Base, key: string): Base => {
  const { clock } = systemAmbient;
  const { state, upstream, api, http, log } = real.config;
  const config: Config = {
    ...real.config,
    http: { ...http, apiKeys: [key], host: '127.0.0.1', port: 0 },
    state: { ...state, store: 'off', databaseUrl: null },
    upstream: { ...upstream, wire: 'on', apiKey: null, baseUrl: null },
    // Tools in prose need a thread.
    api: { ...api, toolTransport: [] },
    log: { ...log, content: false },
    mcpServers: [],
    workspaces: [],
  };
  const metrics = createMetrics(ALL_METRICS);
  // Lines are written as usual, and discarded.
  const logger = createLogger({ level: log.level });
  const signer = new TextSigner([Buffer.from(key)]);
  const keyIds = new KeyIds([Buffer.from(key)]);
  return {
    ...real,
    config,
    environment: {},
    logger,
    metrics,
    store: null,
    ownKey: null,
    keyIds,
    shared: {
      cacheIds: new CacheIds({ store: null, clock, mint: () => uuidV7(clock.now()) }),
      reasoning: null,
      close: async () => {},
    },
    threads: { ...real.threads, tokenizer: ESTIMATES },
    apis: apisOf(config, metrics, { tokenizer: ESTIMATES, signer }),
    codexWatch: new CodexWatch(TESTED_CODEX, logger),
    backendWatch: new BackendWatch(clock),
  };
};

const openDemoBackend = async (base: Base, parts: OpenParts): Promise<ActiveBackend> => {
  const { config, logger, metrics, homes, environment, shared, threads } = base;
  const { clock } = systemAmbient;
  const model = await startModelServer({
    script: ({ body }, connection) => answer(connection, demoSteps(body, ''), { delayMs: 0 }),
  });
  parts.add('model', model);
  const backend: BackendTarget = { kind: 'demo', baseUrl: model.baseUrl };
  const refusals = new Refusals(clock);
  const placed = await placeRelay(backend, {
    config: config.upstream,
    wire: 'on',
    environment,
    login: homes.login,
    cacheIds: shared.cacheIds.of('demo'),
    refusals,
    logger,
    metrics,
    onBlocked: () => {},
    onServed: () => {},
  });
  const relay = parts.add('relay', placed).relay;
  if (relay === null) throw new Error('the demo model has no relay');
  const catalogue = cleanCatalogue(homes.bundled, 'api');
  const offered = { current: () => catalogue, refresh: () => {}, models: async () => catalogue.list };
  const origin = new ReasoningOrigins().of('demo');
  const appServer = await openAppServer(relay.addresses.model, base, parts);
  const workers: WorkerLeases = {
    lease: async () => ({ appServer, isCurrent: () => true, release: () => {} }),
  };
  const engine = engineOf(placed.backend, {
    driver: wiringOf(relay).driver(
      driverDeps(
        backend,
        { offered, origin },
        { config, metrics, logger, mcp: NO_MCP, unread: openUnreadTotal(config, metrics) },
      ),
    ),
    chosen: backend,
    identity: 'demo',
    origin,
    offered,
    workers,
    refusals,
    wasRenewedSince: async () => false,
    deps: {
      ...base,
      ...threads,
      reasoning: openReasoningMemory(config, metrics, shared),
      onUnauthorized: () => {},
    },
  });
  const models = createModelDirectory(offered, config.clients.modelAliases);
  const close = async (): Promise<void> => {};
  return {
    engine,
    models,
    backend: {
      engine,
      models,
      state: { kind: 'demo' },
      codexAccount: createCodexAccount({ backend: 'demo', workers, clock }),
      codexModels: () => [],
      ready: () => true,
      workers: () => [],
      listMcpTools: async () => [],
      renew: () => {},
      close,
    },
    look: close,
    close,
  };
};

/** An app-server without a process: it starts threads and turns, and sends model requests to the relay as codex does. */
const openAppServer = async (
  modelUrl: string,
  { logger, metrics }: Pick<Base, 'logger' | 'metrics'>,
  parts: OpenParts,
): Promise<AppServer> => {
  const closed = new AbortController();
  let onMessage: (line: string) => void = () => {};
  const say = (message: object): void =>
    void setImmediate(() => {
      if (!closed.signal.aborted) onMessage(JSON.stringify(message));
    });
  /** The item in the place of the conversation, by thread. */
  const placeholders = new Map<string, Json>();
  const runTurn = async (threadId: string, turnId: string): Promise<void> => {
    const turn = { threadId, turnId, placeholder: placeholders.get(threadId) ?? null };
    while (await asksAgain(modelUrl, turn, closed.signal));
    say({
      method: 'turn/completed',
      params: { threadId, turn: { id: turnId, status: 'completed', error: null } },
    });
  };
  const resultOf = (method: string, params: JsonObject): object => {
    const id = uuidV7(systemAmbient.clock.now());
    const threadId = textIn(params, 'threadId');
    switch (method) {
      case 'initialize':
        return { userAgent: `codex-app-server-proxy/${TESTED_CODEX}` };
      case 'thread/start':
        return { thread: { id } };
      case 'thread/inject_items':
        placeholders.set(threadId, listIn(params, 'items').at(-1) ?? null);
        return {};
      case 'turn/start':
        // Its request ends with the relay.
        setImmediate(() => void runTurn(threadId, id).catch(() => {}));
        return { turn: { id } };
      default:
        return {};
    }
  };
  const lines: LineTransport = {
    send(line) {
      const { id, method, params }: RpcLine = JSON.parse(typeof line === 'string' ? line : line.join(''));
      if (id !== undefined) say({ id, result: resultOf(method, params) });
    },
    onMessage(listener) {
      onMessage = listener;
    },
    onClose() {},
    close: () => closed.abort(),
  };
  const appServer = await connectAppServer(lines, {
    clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
    reportsContent: false,
    onListenerError: (err) => logger.error({ err }, 'a turn could not handle a notification'),
    onCall: rpcMetrics(metrics, logger),
  });
  parts.add('app-server', { close: () => appServer.close() });
  return appServer;
};

interface RpcLine {
  /** Absent: a notification. */
  readonly id?: Json;
  readonly method: string;
  readonly params: JsonObject;
}

interface SyntheticTurn {
  readonly threadId: string;
  readonly turnId: string;
  readonly placeholder: Json;
}

/** Sends the model request of a turn. Returns whether there is to be another one. */
const asksAgain = async (
  modelUrl: string,
  { threadId, turnId, placeholder }: SyntheticTurn,
  signal: AbortSignal,
): Promise<boolean> => {
  const window = `${threadId}:0`;
  const metadata = {
    session_id: threadId,
    thread_id: threadId,
    agent_name: '/root',
    turn_id: turnId,
    window_id: window,
    window_number: 0,
    request_kind: 'turn',
    turn_started_at_unix_ms: systemAmbient.clock.now(),
  };
  const notes = { 'x-codex-turn-metadata': JSON.stringify(metadata), 'x-codex-window-id': window };
  const body = {
    model: 'demo',
    stream: true,
    input: [placeholder],
    tools: [],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: {},
    store: false,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: threadId,
    client_metadata: { ...notes, turn_id: turnId, session_id: threadId, thread_id: threadId },
  };
  const headers = {
    ...notes,
    'x-client-request-id': threadId,
    'session-id': threadId,
    'thread-id': threadId,
    accept: 'text/event-stream',
    'content-type': 'application/json',
    originator: 'codex-app-server-proxy',
  };
  // codex opens a connection for each.
  const options = { agent: false as const, headers, signal };
  const { text } = await post(`${modelUrl}/responses`, JSON.stringify(body), options);
  return text.includes('"end_turn":false');
};

const PROMPT = 'You are a helpful assistant that answers in plain English. '.repeat(8);
const EARLIER = 'An earlier message, with "quotes" and a break,\nlike the ones in code or prose. '.repeat(8);
const TEXT = 'Please write a short answer to this message.';
const TALK = [
  { role: 'user', content: EARLIER },
  { role: 'assistant', content: EARLIER },
  { role: 'user', content: TEXT },
];
const TOOL = { name: 'read_file', description: 'Reads a file of the project.' };
const PARAMETERS = {
  type: 'object',
  properties: { path: { type: 'string', description: 'A path.' }, lines: { type: 'integer' } },
  required: ['path'],
};

/** A text and a call in each API. */
const BODIES: readonly (readonly [path: string, body: JsonObject])[] = [
  ['/v1/responses', { instructions: PROMPT, input: TALK }],
  ['/v1/chat/completions', { messages: [{ role: 'system', content: PROMPT }, ...TALK] }],
  ['/v1/messages', { max_tokens: 32_000, system: PROMPT, messages: TALK }],
  [
    '/v1/responses',
    {
      input: TEXT,
      tools: [{ type: 'function', ...TOOL, parameters: PARAMETERS, strict: false }],
      tool_choice: 'required',
    },
  ],
  [
    '/v1/chat/completions',
    {
      messages: [{ role: 'user', content: TEXT }],
      tools: [{ type: 'function', function: { ...TOOL, parameters: PARAMETERS } }],
      tool_choice: 'required',
    },
  ],
  [
    '/v1/messages',
    {
      max_tokens: 32_000,
      messages: [{ role: 'user', content: TEXT }],
      tools: [{ ...TOOL, input_schema: PARAMETERS }],
      tool_choice: { type: 'any' },
    },
  ],
];

/** Most clients stream. */
const SYNTHETIC = [true, true, false].flatMap((stream) =>
  BODIES.map(([path, body]) => [path, { ...body, model: 'codex-5', stream }] as const),
);

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import path from 'node:path';

import { childOf, residentMb } from './processes.ts';
import { DELTA, MCP_LABEL, promptOf, type Ask, type Side, type Timing } from './workload.ts';

/** The proxy as users run it: in its own process, over HTTP. */

export const KEY = 'sk-bench-key-0123456789';

export interface ProxySideOptions {
  readonly name: string;
  readonly stateDir: string;
  /** The folder of the project; absent: this one. */
  readonly root?: string;
  /** Null: the environment names another backend. */
  readonly baseUrl: string | null;
  /** Settings that differ from the defaults. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Node flags, such as for a profiler. */
  readonly nodeFlags?: readonly string[];
}

export interface ProxySide extends Side {
  readonly url: string;
  /** A streamed request of the Responses API with these fields. */
  send(body: object, key?: string): Promise<Sent>;
  /** The same process through Chat Completions. */
  readonly chat: Side;
  /** The same process through Anthropic's Messages. */
  readonly messages: Side;
  /** Resolves when its warm-up has ended, if the environment has switched it on. */
  readonly warmedUp: Promise<void>;
  /** The process ids of the proxy and of its app-server. */
  pids(): Promise<{ readonly node: number; readonly appServer: number }>;
  /** Concurrent requests, each on its own connection. */
  burst(requests: number): Promise<Burst>;
  /** Milliseconds until it reports an unreachable backend. */
  fail(): Promise<number>;
}

export interface Sent extends Timing {
  /** The id of the response. */
  readonly id: string;
  /** The length of the request's body. */
  readonly uploadedBytes: number;
}

/** Durations in milliseconds of complete answers, and of rejections with a status. */
export interface Burst {
  readonly served: readonly number[];
  readonly refused: readonly number[];
  /** Neither: truncated, or an error inside a 200. */
  readonly broken: number;
}

export const startProxySide = async (options: ProxySideOptions): Promise<ProxySide> => {
  const root = options.root ?? path.join(import.meta.dirname, '..');
  const main = path.join(root, 'bin/codex-app-server-proxy.js');
  const child = spawn(process.execPath, [...(options.nodeFlags ?? []), main], {
    env: {
      ...process.env,
      PORT: '0',
      PROXY_API_KEY: KEY,
      PROXY_STATE_DIR: options.stateDir,
      PROXY_CODEX_WORKDIR: path.join(options.stateDir, 'work'),
      ...(options.baseUrl === null ? {} : { PROXY_UPSTREAM_BASE_URL: options.baseUrl }),
      // The bare side keeps its process as well.
      PROXY_WORKER_MAX_THREADS: '1000000',
      PROXY_WORKER_MAX_RSS_MB: '16384',
      PROXY_WORKER_MAX_HOME_MB: '16384',
      // What is measured is warmed up by requests.
      PROXY_WARMUP: 'off',
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const warmedUp = endOfWarmUp(child.stdout);
  const url = await urlOf(child.stderr);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  // Its only child is its app-server.
  const memory = (): Promise<number> => residentMb(({ parent }) => parent === child.pid);
  const through = (name: string, api: Api): Side => ({
    name,
    run: (ask) => streamOnce(url, agent, ask, api),
    memory,
    close: async () => {},
  });
  return {
    name: options.name,
    url,
    run: (ask) => streamOnce(url, agent, ask, RESPONSES),
    send: (body, key) => stream(url, agent, { model: 'gpt-5.5', ...body, stream: true }, RESPONSES, key),
    memory,
    warmedUp,
    chat: through('chat', CHAT),
    messages: through('messages', MESSAGES),
    async pids() {
      const node = child.pid ?? 0;
      return { node, appServer: await childOf(node) };
    },
    burst: (requests) => burstOf(url, requests),
    async fail() {
      const startedAt = performance.now();
      const status = await statusOf(url, agent);
      if (status !== 502) throw new Error(`the proxy answered ${status}`);
      return performance.now() - startedAt;
    },
    async close() {
      agent.destroy();
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
};

/** The model asked by the same client without a proxy. */
export const directSide = (baseUrl: string): Side => {
  const agent = new Agent({ keepAlive: true });
  return {
    name: 'direct',
    run: (ask) => streamOnce(baseUrl, agent, ask, RESPONSES),
    memory: () => Promise.resolve(0),
    async close() {
      agent.destroy();
    },
  };
};

/** Its log line. */
const endOfWarmUp = (stdout: NodeJS.ReadableStream): Promise<void> =>
  new Promise((resolve) => {
    let last = '';
    // Keep listening: an unread pipe would block the process.
    stdout.on('data', (chunk) => {
      last = (last + String(chunk)).slice(-1_000);
      if (last.includes('"warm-up ended"')) resolve();
    });
  });

/** The URL in the banner. */
const urlOf = (stderr: NodeJS.ReadableStream): Promise<string> =>
  new Promise((resolve, reject) => {
    let said = '';
    // Keep listening: an unread pipe would block the process.
    stderr.on('data', (chunk) => {
      said += String(chunk);
      const url = /URL\s+(http:\S+)\s/u.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    });
    stderr.once('end', () => reject(new Error(`the proxy did not start: ${said}`)));
  });

/** What differs between the APIs. */
interface Api {
  readonly path: string;
  body(ask: Ask): object;
  /** The start of every frame with text, and the content of the last frames. */
  readonly deltaMarker: string;
  readonly endMarker: string;
}

const userMessage = (ask: Ask): object => ({ role: 'user', content: promptOf(ask) });

const RESPONSES: Api = {
  path: '/responses',
  body: (ask) => ({
    model: ask.model,
    ...(ask.instructions === undefined ? {} : { instructions: ask.instructions }),
    input: ask.history === undefined ? promptOf(ask) : [userMessage(ask), ...ask.history],
    tools: [
      ...(ask.tools ?? []).map((tool) => ({ type: 'function', ...tool, strict: false })),
      ...(ask.mcp === undefined ? [] : [{ type: 'mcp', server_label: MCP_LABEL, require_approval: 'never' }]),
    ],
    stream: true,
  }),
  deltaMarker: '"type":"response.output_text.delta"',
  endMarker: 'event: response.completed\n',
};

const CHAT: Api = {
  path: '/chat/completions',
  body: (ask) => ({
    model: ask.model,
    messages: [userMessage(ask)],
    stream: true,
  }),
  deltaMarker: `"delta":{"content":"${DELTA[0] ?? ''}`,
  endMarker: '"finish_reason":"stop"',
};

const MESSAGES: Api = {
  path: '/messages',
  body: (ask) => ({
    model: ask.model,
    max_tokens: 32_000,
    ...(ask.instructions === undefined ? {} : { system: ask.instructions }),
    messages: [userMessage(ask)],
    tools: (ask.tools ?? []).map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    stream: true,
  }),
  deltaMarker: '"delta":{"type":"text_delta"',
  endMarker: 'event: message_stop\n',
};

const post = async (url: string, agent: Agent, text: string, key = KEY): Promise<IncomingMessage> => {
  const http = httpRequest(url, {
    agent,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  });
  http.end(text);
  const [response]: IncomingMessage[] = await once(http, 'response');
  if (response === undefined) throw new Error('the proxy gave no answer');
  return response;
};

const statusOf = async (url: string, agent: Agent): Promise<number> => {
  const body = JSON.stringify(RESPONSES.body({ model: 'gpt-5.5', deltas: 1 }));
  const response = await post(url + RESPONSES.path, agent, body);
  response.resume();
  await once(response, 'end');
  return response.statusCode ?? 0;
};

const streamOnce = (url: string, agent: Agent, ask: Ask, api: Api): Promise<Timing> =>
  stream(url, agent, api.body(ask), api);

const stream = async (url: string, agent: Agent, body: object, api: Api, key?: string): Promise<Sent> => {
  const startedAt = performance.now();
  const text = JSON.stringify(body);
  const response = await post(url + api.path, agent, text, key);
  if (response.statusCode !== 200) {
    response.resume();
    throw new Error(`the proxy answered ${String(response.statusCode)}`);
  }
  const counter = createCounter(api);
  let firstDeltaAt: number | null = null;
  response.on('data', (chunk: Buffer) => {
    counter.add(chunk);
    if (firstDeltaAt === null && counter.deltas > 0) firstDeltaAt = performance.now();
  });
  await once(response, 'end');
  const endMs = performance.now() - startedAt;
  if (!counter.completed()) throw new Error('the answer of the proxy was not completed');
  const { deltas, textChars, id } = counter;
  const firstDeltaMs = (firstDeltaAt ?? startedAt) - startedAt;
  return { firstDeltaMs, endMs, deltas, textChars, id, uploadedBytes: text.length };
};

const burstOf = async (url: string, requests: number): Promise<Burst> => {
  const agent = new Agent({ keepAlive: false });
  const served: number[] = [];
  const refused: number[] = [];
  let broken = 0;
  const one = async (): Promise<void> => {
    const startedAt = performance.now();
    try {
      await streamOnce(url, agent, { model: 'gpt-5.5', deltas: 16 }, RESPONSES);
      served.push(performance.now() - startedAt);
    } catch (error) {
      if (error instanceof Error && /answered (?:429|503)$/u.test(error.message)) {
        refused.push(performance.now() - startedAt);
      } else broken += 1;
    }
  };
  await Promise.all(Array.from({ length: requests }, one));
  agent.destroy();
  return { served, refused, broken };
};

interface Counter {
  readonly id: string;
  readonly deltas: number;
  readonly textChars: number;
  add(chunk: Buffer): void;
  completed(): boolean;
}

/** A cheap client: it searches the text for deltas instead of parsing them. */
const createCounter = ({ deltaMarker: marker, endMarker }: Api): Counter => {
  let rest = '';
  let id = '';
  let deltas = 0;
  let words = 0;
  let completed = false;
  return {
    get id() {
      return id;
    },
    get deltas() {
      return deltas;
    },
    get textChars() {
      return words * DELTA.length;
    },
    add(chunk) {
      const text = rest + chunk.toString('latin1');
      if (id === '') id = /"id":"(resp_\w+)"/u.exec(text)?.[1] ?? '';
      const end = text.lastIndexOf('\n\n') + 2;
      rest = text.slice(end < 2 ? 0 : end);
      let at = end < 2 ? -1 : text.indexOf(marker);
      while (at !== -1 && at < end) {
        deltas += 1;
        const frameEnd = text.indexOf('\n\n', at);
        let word = text.indexOf(DELTA, at);
        while (word !== -1 && word < frameEnd) {
          words += 1;
          word = text.indexOf(DELTA, word + DELTA.length);
        }
        at = text.indexOf(marker, frameEnd);
      }
      completed ||= text.lastIndexOf(endMarker, end) !== -1;
    },
    completed: () => completed,
  };
};

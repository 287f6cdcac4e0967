import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { createApp, type App } from '../../src/compose/app.ts';
import { loadConfig } from '../../src/compose/features.ts';
import type { Script } from '../../src/demo/model-server.ts';
import { listen } from '../../src/http/listen/listen.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json/json.ts';
import { createLogger } from '../../src/observe/log.ts';
import { writeAccessToken } from './access-tokens.ts';
import { startChatGptBackend, type ChatGptBackend } from './backend.ts';
import type { LoginOptions } from './login.ts';
import type { Transport } from './pending-faults.ts';
import type { ModelRequest } from './recorded.ts';
import { PATIENT_THREADS } from '../support/proxy.ts';
import { keepModels, startWarm } from '../support/warm-homes.ts';

/** The whole product, signed in with a made-up login, and the fake service. */
export interface ChatGptProxy {
  readonly url: string;
  readonly app: App;
  readonly backend: ChatGptBackend;
  /** The `CODEX_HOME` with the login. */
  readonly home: string;
  /** Where the server's own login would be. */
  readonly ownHome: string;
  readonly log: readonly JsonObject[];
  post(path: string, body: JsonObject, headers?: Record<string, string>): Promise<Answered>;
  get(path: string): Promise<Answered>;
  /** Stops the server and starts another one with the same files and the same service. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

/** A client's complete answer. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body, or the response in the last event of a stream. */
  readonly json: JsonObject;
}

export interface ChatGptProxyOptions {
  readonly script: Script;
  readonly env?: Readonly<Record<string, string>>;
  /** Null: no login. */
  readonly login?: LoginOptions | null;
  /** In the `CODEX_HOME`, in place of such a login. */
  readonly accessToken?: string;
  /** Prepares the service before the proxy starts. */
  readonly prepare?: (backend: ChatGptBackend) => void;
}

export const KEY = 'sk-test-key-0123456789';

export const startChatGptProxy = async (options: ChatGptProxyOptions): Promise<ChatGptProxy> => {
  const dir = await mkdtemp(path.join(tmpdir(), 'chatgpt-proxy-'));
  const home = path.join(dir, 'login');
  const backend = await startChatGptBackend({ script: options.script });
  await mkdir(home, { recursive: true });
  await keepModels(path.join(dir, 'state'));
  if (options.accessToken !== undefined) await writeAccessToken(home, options.accessToken);
  else if (options.login !== null) await backend.writeLogin(home, options.login);
  options.prepare?.(backend);
  const log: JsonObject[] = [];
  const logger = createLogger({
    level: 'debug',
    destination: { write: (line) => void log.push(JSON.parse(line)) },
  });
  const env = {
    PORT: '0',
    PROXY_API_KEY: KEY,
    PROXY_STATE_DIR: path.join(dir, 'state'),
    PROXY_CODEX_WORKDIR: path.join(dir, 'work'),
    CODEX_HOME: home,
    PROXY_CHATGPT_BASE_URL: backend.baseUrl,
    CODEX_REFRESH_TOKEN_URL_OVERRIDE: backend.tokenUrl,
    CODEX_REVOKE_TOKEN_URL_OVERRIDE: backend.revokeUrl,
    CODEX_APP_SERVER_LOGIN_ISSUER: backend.origin,
    CODEX_AUTHAPI_BASE_URL: `${backend.origin}/api/accounts`,
    ...options.env,
  };
  const config = loadConfig(env);
  const environment = { ...process.env, ...env };
  const start = async () => {
    const app = await createApp(config, {
      environment,
      logger,
      lookEveryMs: 200,
      startWorker: startWarm,
      threadTimes: PATIENT_THREADS,
    });
    return { app, listener: await listen(app.fetch, { ...config.http, refuse: app.refuse }) };
  };
  let server = await start();
  const stop = async (): Promise<void> => {
    server.listener.stop();
    await server.app.stop(5_000);
    await server.listener.close();
  };
  const send = async (at: string, init: RequestInit): Promise<Answered> => {
    const response = await fetch(server.listener.url + at, {
      ...init,
      headers: { authorization: `Bearer ${KEY}`, ...(init.headers as Record<string, string> | undefined) },
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: lastObject(text) };
  };
  return {
    get url() {
      return server.listener.url;
    },
    get app() {
      return server.app;
    },
    backend,
    home,
    ownHome: path.join(dir, 'state', 'codex'),
    log,
    post: (at, body, headers = {}) =>
      send(at, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    get: (at) => send(at, {}),
    async restart() {
      await stop();
      server = await start();
    },
    async close() {
      await stop();
      await backend.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
};

const objectOf = (text: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    // The test sees that it is empty.
    return {};
  }
};

const lastObject = (text: string): JsonObject => {
  if (!text.startsWith('event:') && !text.startsWith('data:')) return objectOf(text);
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  const last = objectOf((data.at(-1) ?? '').slice(6));
  return isJsonObject(last['response']) ? last['response'] : last;
};

/** The text of a Responses answer. */
export const outputText = ({ json }: Answered): string => {
  const output = Array.isArray(json['output']) ? json['output'].filter(isJsonObject) : [];
  const parts = output.flatMap(({ content }) => (Array.isArray(content) ? content.filter(isJsonObject) : []));
  return parts.map(({ text }) => (typeof text === 'string' ? text : '')).join('');
};

export const codeOf = ({ status, json }: Answered): string => {
  const error = isJsonObject(json['error']) ? json['error'] : {};
  return `${String(status)} ${typeof error['code'] === 'string' ? error['code'] : 'no code'}`;
};

/** How the model requests came, in order. */
export const sentBy = ({ backend }: ChatGptProxy): readonly Transport[] =>
  backend.modelRequests.map(({ transport }) => transport);

/** What the model sees of a request: its items, without ids and tools. */
export const itemsSent = (request: ModelRequest | undefined): readonly JsonObject[] =>
  (Array.isArray(request?.body['input']) ? request.body['input'] : [])
    .filter((item) => isJsonObject(item))
    .filter(({ type }) => type !== 'additional_tools')
    .map(({ id: _id, status: _status, ...item }) => item);

/** All broken rules of every confidence, for `toEqual([])`. */
export const violationsOf = (backend: ChatGptBackend): readonly string[] =>
  backend
    .violations('A', 'B', 'C')
    .map(({ rule, confidence, request }) => `${confidence} ${rule} (${request.requestFormat})`);

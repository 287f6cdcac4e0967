import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

import OpenAI from 'openai';

import { createApp, type App, type AppDeps } from '../../src/compose/app.ts';
import { ALL_SETTINGS, loadConfig } from '../../src/compose/features.ts';
import { secretsOf } from '../../src/config/schema.ts';
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
  type Script,
} from '../../src/demo/model-server.ts';
import { listen, type ListenOptions } from '../../src/http/listen/listen.ts';
import type { Upgrades } from '../../src/http/listen/upgrade.ts';
import { createLogger } from '../../src/observe/log.ts';
import { keepModels, startWarm } from './warm-homes.ts';

export interface TestProxy {
  readonly url: string;
  readonly key: string;
  readonly app: App;
  /** The scripted model that the real app-server uses. */
  readonly model: ModelServer;
  readonly openai: OpenAI;
  /** The log lines so far, parsed. */
  readonly log: readonly Record<string, unknown>[];
  /** Answers the next requests with this script. */
  use(script: Script): void;
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  get(path: string): Promise<Response>;
  /** Any other request. */
  send(path: string, init: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

const KEY = 'sk-test-key-0123456789';

/** On a busy machine a thread starts slowly, and what it cannot check or count in time is accepted or estimated. */
export const PATIENT_THREADS = { timeoutMs: 30_000, waitMs: 30_000 };

/** The same for a database. */
export const PATIENT_STORE = { PROXY_STORE_TIMEOUT_MS: '30000' };

type Behind = Pick<ModelServerOptions, 'models'> &
  Pick<AppDeps, 'times' | 'startWorker'> &
  Pick<ListenOptions, 'stallMs'>;

/** The whole product in this process: HTTP server, the real app-server, and a scripted model. */
export const startProxy = async (
  script: Script,
  env: Readonly<Record<string, string>> = {},
  behind: Behind = {},
): Promise<TestProxy> => {
  const stateDir = await mkdtemp(path.join(tmpdir(), 'proxy-test-'));
  await keepModels(stateDir);
  let current = script;
  const model = await startModelServer({
    script: (request, connection) => current(request, connection),
    keepRequests: 100,
    ...behind,
  });
  const log: Record<string, unknown>[] = [];
  const config = loadConfig({
    PORT: '0',
    PROXY_API_KEY: KEY,
    PROXY_STATE_DIR: stateDir,
    PROXY_UPSTREAM_BASE_URL: model.baseUrl,
    PROXY_CODEX_WORKDIR: path.join(stateDir, 'work'),
    ...PATIENT_STORE,
    ...env,
  });
  const logger = createLogger({
    level: 'debug',
    secrets: secretsOf(config, ALL_SETTINGS),
    destination: { write: (line) => void log.push(JSON.parse(line)) },
  });
  const { times = {}, startWorker = startWarm, ...listening } = behind;
  const app = await createApp(config, {
    environment: { ...process.env, ...env },
    logger,
    times: { leaseEveryMs: 3_000, ...times },
    startWorker,
    threadTimes: PATIENT_THREADS,
  }).catch(async (error: unknown) => {
    await model.close();
    await rm(stateDir, { recursive: true, force: true });
    throw error;
  });
  const upgrades = (): Upgrades | null => app.upgrades;
  const listener = await listen(app.fetch, {
    ...config.http,
    ...listening,
    refuse: app.refuse,
    upgrades,
  });
  const send = (at: string, init: RequestInit): Promise<Response> =>
    fetch(listener.url + at, {
      ...init,
      headers: { authorization: `Bearer ${KEY}`, ...(init.headers as Record<string, string> | undefined) },
    });
  return {
    url: listener.url,
    key: KEY,
    app,
    model,
    log,
    openai: new OpenAI({ baseURL: `${listener.url}/v1`, apiKey: KEY, maxRetries: 0 }),
    use(next) {
      current = next;
    },
    post: (at, body, init = {}) =>
      send(at, {
        method: 'POST',
        body: JSON.stringify(body),
        ...init,
        headers: {
          'content-type': 'application/json',
          ...(init.headers as Record<string, string> | undefined),
        },
      }),
    get: (at) => send(at, {}),
    send,
    async close() {
      listener.stop();
      await app.stop(5_000);
      await listener.close();
      await model.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
};

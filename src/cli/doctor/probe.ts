import { randomUUID } from 'node:crypto';

import { createApp, type App } from '../../compose/app.ts';
import type { BackendState } from '../../compose/banner.ts';
import type { Config } from '../../config/schema.ts';
import { isJsonObject, type JsonObject } from '../../kit/json/json.ts';
import { createLogger } from '../../observe/log.ts';
import { loadSettings } from '../load-settings.ts';
import type { Answer } from './turns.ts';

/** The whole server in this process, without a port: it answers as a client would see it. */
export interface Probe {
  readonly state: BackendState;
  ask(body: JsonObject, signal: AbortSignal): Promise<Answer>;
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const startProbe = async (environment: Environment, settings: Environment): Promise<Probe> => {
  // A temporary key: the server's is neither needed nor created.
  const key = randomUUID();
  const config = impatient(await loadSettings({ ...environment, ...settings, PROXY_API_KEY: key }));
  const app = await createApp(config, { environment, logger: createLogger({ level: 'silent' }) });
  return {
    state: app.state(),
    ask: (body, signal) => askApp(app, key, body, signal),
    stop: () => app.stop(0),
  };
};

/** Shorter than the timeout for clients, because a person is waiting. */
const SILENT_MS = 20_000;

const impatient = (config: Config): Config => ({
  ...config,
  upstream: { ...config.upstream, idleTimeoutMs: Math.min(config.upstream.idleTimeoutMs, SILENT_MS) },
});

const askApp = async (app: App, key: string, body: JsonObject, signal: AbortSignal): Promise<Answer> => {
  const startedAt = performance.now();
  const response = await app.fetch(
    new Request('http://127.0.0.1/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    }),
  );
  const answered: unknown = await response.json();
  return {
    status: response.status,
    headers: response.headers,
    body: isJsonObject(answered) ? answered : {},
    ms: Math.round(performance.now() - startedAt),
  };
};

import { randomUUID } from 'node:crypto';

import { createApp, type App } from '../../compose/app.ts';
import type { BackendState } from '../../compose/banner.ts';
import type { Config } from '../../config/schema.ts';
import { isJsonObject, parseJsonObject, type JsonObject } from '../../kit/json/json.ts';
import type { CodexReport } from '../../observe/codex-watch.ts';
import { createLogger } from '../../observe/log.ts';
import { loadSettings } from '../explain.ts';
import type { StreamedTurn, Answer } from './turns.ts';

/** The whole server in this process, without a port: it answers as a client would see it. */
export interface Probe {
  readonly state: BackendState;
  /** What codex said at its start. */
  readonly codex: CodexReport;
  /** Whether an app-server could start a thread. */
  readonly isReady: boolean;
  ask(body: JsonObject, signal: AbortSignal): Promise<Answer>;
  /** The same as a stream, which shows when the output begins. */
  stream(body: JsonObject, signal: AbortSignal): Promise<StreamedTurn>;
  stop(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const startProbe = async (environment: Environment, settings: Environment): Promise<Probe> => {
  // A temporary key: the server's is neither needed nor created. Its requests are not to be kept.
  const key = randomUUID();
  const own = { PROXY_API_KEY: key, PROXY_STORE: 'off' };
  const changed = { ...environment, ...settings };
  const config = impatient(await loadSettings({ ...changed, ...own }));
  const app = await createApp(config, { environment: changed, logger: createLogger({ level: 'silent' }) });
  return {
    state: app.state(),
    codex: app.codex(),
    isReady: app.workers().some(({ state }) => state === 'ready'),
    ask: (body, signal) => askApp(app, key, body, signal),
    stream: (body, signal) => streamApp(app, key, body, signal),
    stop: () => app.stop(0),
  };
};

/** Shorter than the timeout for clients, because a person is waiting. */
const SILENT_MS = 20_000;

const impatient = (config: Config): Config => ({
  ...config,
  upstream: { ...config.upstream, idleTimeoutMs: Math.min(config.upstream.idleTimeoutMs, SILENT_MS) },
});

const post = async (app: App, key: string, body: JsonObject, signal: AbortSignal): Promise<Response> =>
  app.fetch(
    new Request('http://127.0.0.1/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    }),
  );

const toAnswer = ({ status, headers }: Response, body: unknown, startedAt: number): Answer => ({
  status,
  headers,
  body: isJsonObject(body) ? body : {},
  ms: Math.round(performance.now() - startedAt),
});

const askApp = async (app: App, key: string, body: JsonObject, signal: AbortSignal): Promise<Answer> => {
  const startedAt = performance.now();
  const response = await post(app, key, body, signal);
  return toAnswer(response, await response.json(), startedAt);
};

/** The first events are about the answer as a whole. */
const OUTPUT = 'event: response.output_item.added';
const ERROR = /^event: error\ndata: (.*)$/m;

const streamApp = async (
  app: App,
  key: string,
  body: JsonObject,
  signal: AbortSignal,
): Promise<StreamedTurn> => {
  const startedAt = performance.now();
  const response = await post(app, key, { ...body, stream: true }, signal);
  if (!response.ok || response.body === null)
    return { answer: toAnswer(response, await response.json(), startedAt), firstMs: null };
  let text = '';
  let firstMs: number | null = null;
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (firstMs === null && text.includes(OUTPUT)) firstMs = Math.round(performance.now() - startedAt);
  }
  const failed = ERROR.exec(text)?.[1];
  const error = failed === undefined ? null : parseJsonObject(failed);
  return {
    answer: toAnswer(response, error === null ? {} : { status: 'failed', error }, startedAt),
    firstMs,
  };
};

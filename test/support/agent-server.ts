import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import OpenAI from 'openai';

import { openBase, openServer } from '../../src/compose/core.ts';
import { FEATURES, loadConfig } from '../../src/compose/features.ts';
import { drainAll, OpenParts } from '../../src/compose/open-features.ts';
import { createModelNames } from '../../src/canonical/models/model-names.ts';
import type { AgentLimits } from '../../src/config/agent-limits.ts';
import { AGENT_TABLES, agents } from '../../src/features/agents/feature.ts';
import { openAgentsWith } from '../../src/features/agents/open.ts';
import { NO_RUNS } from '../../src/features/agents/run/open-runs.ts';
import type { AgentRuns } from '../../src/features/agents/run/port.ts';
import { feature } from '../../src/compose/feature.ts';
import { listen } from '../../src/http/listen/listen.ts';
import { createLogger } from '../../src/observe/log.ts';
import { knownModel, modelList } from './models.ts';
import { planOf } from './plan.ts';
import { PATIENT_STORE, PATIENT_THREADS } from './proxy.ts';
import { ScriptedAgents, type AgentScript } from './scripted-agents.ts';

const KEY = 'sk-test-key-0123456789';

export interface AgentServerOptions {
  readonly script?: AgentScript;
  readonly runs?: AgentRuns;
  readonly limits?: Partial<AgentLimits>;
  readonly env?: Readonly<Record<string, string>>;
  /** Fields of the workspace. */
  readonly workspace?: object;
  /** Without workspaces. */
  readonly isOff?: boolean;
  /** Without the workspace `demo`. */
  readonly isWithoutDemo?: boolean;
  /** Another server on the same database. */
  readonly nextTo?: AgentServer;
  readonly leaseEveryMs?: number;
}

export interface AgentServer {
  readonly root: string;
  /** Of the workspace `demo`. */
  readonly folder: string;
  readonly url: string;
  readonly log: readonly Record<string, unknown>[];
  readonly agents: ScriptedAgents;
  readonly openai: OpenAI;
  clientOf(key: string): OpenAI;
  send(at: string, init?: RequestInit, key?: string): Promise<Response>;
  post(
    at: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
    key?: string,
  ): Promise<Response>;
  stop(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** The whole server except codex: runs of agents follow a script. */
export const startAgentServer = async (options: AgentServerOptions = {}): Promise<AgentServer> => {
  const { nextTo } = options;
  const root = nextTo?.root ?? realpathSync(mkdtempSync(path.join(tmpdir(), 'agents-')));
  const stateDir = path.join(root, 'state');
  const folder = path.join(root, 'demo');
  for (const one of [stateDir, folder, path.join(root, 'docs')])
    mkdirSync(one, { recursive: true, mode: 0o700 });
  const file = path.join(root, 'config', 'config.json');
  mkdirSync(path.dirname(file), { recursive: true });
  const workspaces = {
    ...(options.isWithoutDemo === true ? {} : { demo: { workspace: folder, ...options.workspace } }),
    docs: { workspace: path.join(root, 'docs'), access: 'read' },
  };
  const written = { mcpServers: options.isOff === true ? {} : workspaces, agent: options.limits ?? {} };
  writeFileSync(file, JSON.stringify(written));
  const config = loadConfig({
    PORT: '0',
    PROXY_API_KEY: KEY,
    PROXY_STATE_DIR: stateDir,
    PROXY_CONFIG: file,
    PROXY_UPSTREAM_BASE_URL: 'http://127.0.0.1:9/v1',
    PROXY_CODEX_WORKDIR: path.join(stateDir, 'work'),
    ...PATIENT_STORE,
    ...options.env,
  });
  const log: Record<string, unknown>[] = [];
  const logger = createLogger({
    level: 'debug',
    destination: { write: (line) => void log.push(JSON.parse(line) as Record<string, unknown>) },
  });
  const scripted = new ScriptedAgents(options.script);
  const runs = options.runs ?? scripted;
  const parts = new OpenParts((error, name) => log.push({ level: 'error', error, name }));
  const times = { leaseEveryMs: options.leaseEveryMs ?? 3_000 };
  const base = await openBase(
    config,
    { environment: process.env, logger, threadTimes: PATIENT_THREADS, times },
    parts,
  );
  const names = createModelNames(modelList([knownModel('gpt-5.5'), knownModel('gpt-5.4-mini')], 'gpt-5.5'));
  const active = {
    engine: { plan: () => planOf(async function* () {}) },
    models: { names: () => Promise.resolve(names) },
    backend: { state: 'ready', ready: () => true, listMcpTools: () => Promise.resolve([]) },
  };
  const testAgents = feature('agents', AGENT_TABLES, {
    ...(agents.store === undefined ? {} : { store: agents.store }),
    open: async (core, own) => openAgentsWith(core, own, { ...NO_RUNS, runs }),
  });
  const { http, features } = await openServer(base, {
    features: FEATURES.map((one) => (one === agents ? testAgents : one)),
    parts,
    openBackend: () => Promise.resolve(active as never),
  });
  features.start();
  const listener = await listen(http.fetch, {
    ...config.http,
    refuse: http.refuse,
    upgrades: () => null,
  });
  const url = listener.url;
  const send = (at: string, init: RequestInit = {}, key = KEY): Promise<Response> =>
    fetch(url + at, {
      ...init,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(init.headers as Record<string, string> | undefined),
      },
    });
  let isStopped = false;
  const stop = async (timeoutMs = 5_000): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    const requests = { name: 'requests', drain: (ms: number) => http.exchanges.drain(ms) };
    await drainAll([...features.running, requests], timeoutMs, (error) =>
      log.push({ level: 'error', error }),
    );
    listener.stop();
    await listener.close();
    await parts.close();
  };
  return {
    root,
    folder,
    url,
    log,
    agents: scripted,
    openai: new OpenAI({ baseURL: `${url}/v1`, apiKey: KEY, maxRetries: 0 }),
    clientOf: (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 }),
    send,
    post: (at: string, body: unknown, headers: Readonly<Record<string, string>> = {}, key = KEY) =>
      send(at, { method: 'POST', body: JSON.stringify(body), headers }, key),
    stop,
    async close() {
      await stop();
      if (nextTo === undefined) rmSync(root, { recursive: true, force: true });
    },
  };
};

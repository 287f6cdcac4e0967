import { mkdir } from 'node:fs/promises';
import path from 'node:path';

import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { AppServer, AppServerSettings } from '../../../codex/app-server.ts';
import type { AgentSandbox, SandboxProfile } from '../../../codex/home/config-toml.ts';
import type { CodexHomes } from '../../../codex/home/prepare-home.ts';
import { createRunDirectory, type RunDirectory } from '../../../codex/home/run-directories.ts';
import { createWorkerSpawner } from '../../../codex/worker/spawn-worker.ts';
import { createWorkerPool, type WorkerPool, type WorkerPoolEvent } from '../../../codex/worker/supervisor.ts';
import type { StartWorker, Worker } from '../../../codex/worker/worker.ts';
import { systemAmbient } from '../../../kit/ambient.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { Logger } from '../../../observe/log.ts';
import { VERSION } from '../../../version.ts';
import { foldersAroundHidden } from './workspace-folder.ts';
import { commandProfile, emptyProfile, type RunSandbox, type SandboxLayout } from './profile.ts';

export interface AgentServerOptions {
  readonly homes: CodexHomes;
  /** All workspaces of the deployment: codex obeys the settings of none of them. */
  readonly workspaces: readonly Workspace[];
  /** The base URL to which codex posts its model requests: `<gatewayUrl>/responses`. */
  readonly gatewayUrl: string;
  /** The models as codex ships them, for the next app-server. Default: those of `homes`. */
  readonly entries?: () => readonly JsonObject[];
  /** Number of app-servers. */
  readonly size: number;
  readonly hangTimeoutMs: number;
  readonly maxRssMb: number;
  readonly maxHomeMb: number;
  readonly maxThreads: number;
  readonly logger: Logger;
  /** What is reported of the connections to app-servers: counters of the caller. */
  readonly connection?: Partial<AppServerSettings>;
  /** For tests: starts the process. */
  readonly start?: StartWorker | undefined;
}

export interface AgentPoolOptions extends AgentServerOptions {
  readonly layout: SandboxLayout;
  /** Where the folders of runs are. */
  readonly folders: string;
}

/** A leased app-server. */
export interface LeasedWorker {
  readonly appServer: AppServer;
  readonly worker: Worker;
  /** The sandbox of commands that are run without a thread. */
  sandboxOf(workspace: Workspace): RunSandbox;
  /** Idempotent. */
  release(): void;
}

/** How long a run waits for an app-server. */
const WAIT_MS = 20_000;

/** The app-servers of agents, from a first run until there were none for a while. */
export class AgentPool {
  /** Rejects if no app-server can be started. */
  readonly ready: Promise<void>;
  readonly #options: AgentPoolOptions;
  readonly #workers = new WeakMap<AppServer, Worker>();
  /** By workspace: those that were there at the start. */
  readonly #fixedFolders = new Map<string, readonly string[]>();
  #started: { readonly pool: WorkerPool; readonly folder: RunDirectory } | null = null;

  constructor(options: AgentPoolOptions) {
    this.#options = options;
    this.ready = this.#start();
    // Each lease reports it.
    this.ready.catch(() => {});
  }

  async lease(signal: AbortSignal): Promise<LeasedWorker> {
    if (this.#started === null) throw new Error('the app-servers of agents have not started');
    const { pool, folder } = this.#started;
    const lease = await pool.lease(signal);
    const worker = this.#workers.get(lease.appServer);
    if (worker === undefined) throw new Error('a lease of an unknown app-server');
    return {
      appServer: lease.appServer,
      worker,
      sandboxOf: (workspace) => this.#sandboxOf(folder, workspace),
      release: () => lease.release(),
    };
  }

  /** Ends all app-servers. Those who use one see that it is lost. Never rejects. */
  async drain(): Promise<void> {
    await this.ready.catch(() => {});
    await this.#started?.pool.drain(0);
    const { logger } = this.#options;
    await this.#started?.folder
      .remove()
      .catch((err: unknown) => logger.warn({ err }, 'the folder of commands was not removed'));
  }

  async #start(): Promise<void> {
    const { workspaces, logger, ...options } = this.#options;
    const folder = await createRunDirectory(options.folders, 'agent');
    for (const workspace of workspaces)
      this.#fixedFolders.set(workspace.label, await foldersAroundHidden(workspace));
    for (const workspace of workspaces)
      await mkdir(this.#sandboxOf(folder, workspace).runFolder, { mode: 0o700 });
    const spawn = spawnerOf(this.#options, this.#sandboxIn(folder));
    const pool = createWorkerPool({
      spawnWorker: async () => {
        const worker = await spawn();
        this.#workers.set(worker.appServer, worker);
        return worker;
      },
      size: options.size,
      hangTimeoutMs: options.hangTimeoutMs,
      maxRssMb: options.maxRssMb,
      maxHomeMb: options.maxHomeMb,
      maxThreads: options.maxThreads,
      waitMs: WAIT_MS,
      clock: systemAmbient.clock,
      onEvent: (event) => reportEvent(event, logger),
    });
    this.#started = { pool, folder };
    await pool.start();
  }

  #sandboxIn(folder: RunDirectory): AgentSandbox {
    const { layout, workspaces } = this.#options;
    const profiles: Record<string, SandboxProfile> = { [EMPTY_PROFILE]: emptyProfile(layout) };
    for (const workspace of workspaces) {
      for (const access of ['read', 'write'] as const) {
        const allowed = workspace.access === 'read' ? 'read' : access;
        const sandbox = this.#sandboxOf(folder, workspace);
        profiles[profileName(workspace, access)] = commandProfile(workspace, allowed, sandbox);
      }
    }
    return { profiles, standard: EMPTY_PROFILE };
  }

  #sandboxOf(folder: RunDirectory, { label }: Workspace): RunSandbox {
    const { layout, workspaces } = this.#options;
    const index = workspaces.findIndex((one) => one.label === label);
    const fixedFolders = this.#fixedFolders.get(label) ?? [];
    return { layout, runFolder: path.join(folder.path, String(index)), fixedFolders };
  }
}

const EMPTY_PROFILE = 'nothing';

/** The profile of commands that are run without a thread. */
export const profileName = ({ label }: Workspace, access: Workspace['access']): string =>
  `${access}-${label}`;

const spawnerOf = (
  { homes, workspaces, gatewayUrl, entries, logger, connection = {}, start }: AgentPoolOptions,
  sandbox: AgentSandbox,
): (() => Promise<Worker>) =>
  createWorkerSpawner({
    ...connection,
    // The home names its backend.
    backend: { kind: 'none' },
    homes: {
      ...homes,
      create: () =>
        homes.createForAgents({
          modelUrl: gatewayUrl,
          entries: entries?.() ?? homes.bundled,
          sandbox,
          folders: workspaces.flatMap(({ path: folder, configuredPath }) => [folder, configuredPath]),
        }),
    },
    start,
    reportsContent: true,
    reportsTools: true,
    clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
    onStderr: (line) => logger.debug({ line }, 'app-server stderr'),
    onListenerError: (err) => logger.error({ err }, 'a run could not handle a notification'),
  });

const TROUBLE: ReadonlySet<WorkerPoolEvent['kind']> = new Set<WorkerPoolEvent['kind']>([
  'worker-ill',
  'worker-lost',
  'start-failed',
  'diagnostics-failed',
]);

const reportEvent = (event: WorkerPoolEvent, logger: AgentPoolOptions['logger']): void => {
  const { kind, ...facts } = event;
  logger[TROUBLE.has(kind) ? 'warn' : 'info'](facts, `agents: ${kind}`);
};

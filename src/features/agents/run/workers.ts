import { constants } from 'node:fs';
import { open, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

import { failure, gatewayError, GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { AppServer, AppServerSettings } from '../../../codex/app-server.ts';
import { makePrivateDirectory } from '../../../codex/home/files.ts';
import type { CodexHomes } from '../../../codex/home/prepare-home.ts';
import {
  createRunDirectory,
  sweepRunDirectories,
  type RunDirectory,
} from '../../../codex/home/run-directories.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import { createWorkerSpawner } from '../../../codex/worker/spawn-worker.ts';
import {
  createWorkerPool,
  startFailure,
  type WorkerLease,
  type WorkerPool,
  type WorkerPoolEvent,
} from '../../../codex/worker/supervisor.ts';
import type { StartWorker, Worker } from '../../../codex/worker/worker.ts';
import { unlessAborted, within } from '../../../kit/async/wait.ts';
import { systemAmbient } from '../../../kit/ambient.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { Logger } from '../../../observe/log.ts';
import { VERSION } from '../../../version.ts';
import { endThread, killLeftovers, processTime, type AgentThread, type ProcessTime } from './clean-up.ts';
import {
  emptyProfile,
  sandboxProfile,
  threadWithoutWorkspace,
  workspaceThread,
  type AgentPlaceRequest,
  type SandboxLayout,
} from './profile.ts';

/** The app-servers in which agents work, and the folders of their runs. */
export interface AgentWorkers {
  /**
   * Leases an app-server and makes the folder of a run. Rejects with a `GatewayError`: `worker_unavailable`, or
   * `mcp_server_unavailable` if the workspace is gone. If the signal is aborted, rejects with its reason.
   */
  open(place: AgentPlaceRequest, signal: AbortSignal): Promise<AgentPlace>;
  /** Waits up to `timeoutMs` for the runs, then ends all app-servers, and what they have left. */
  drain(timeoutMs: number): Promise<void>;
}

/** Where one run works, from its start to its clean-up. */
export interface AgentPlace {
  readonly appServer: AppServer;
  /** Members of `thread/start`: folder, policies, sandbox and environment of the commands. */
  readonly thread: Partial<ParamsOf<'thread/start'>>;
  /** AGENTS.md at the root of the workspace (a regular file, UTF-8, at most 32 KiB); null: there is none. */
  readonly agentsMd: string | null;
  /**
   * Ends what the run has started, closes its thread, removes its folder and gives the app-server back. Null: no thread
   * was started. Never rejects, and always ends. Only the first call counts.
   */
  close(thread: AgentThread | null): Promise<CleanUp>;
  /** Aborted when the app-server is lost. */
  readonly lost: AbortSignal;
}

export interface CleanUp {
  /** Processes that codex left behind, and that were killed. */
  readonly leftovers: number;
}

export interface AgentWorkersOptions {
  readonly homes: CodexHomes;
  /** The folder below which the folders of runs are made. Commands cannot read it. */
  readonly stateDir: string;
  /** Files and folders besides the state folder and the login that commands cannot read: those of the configuration. */
  readonly secretPaths: readonly string[];
  /** All workspaces of the deployment: codex obeys the settings of none of them. */
  readonly workspaces: readonly Workspace[];
  /** The base URL to which codex posts its model requests: `<gatewayUrl>/responses`. */
  readonly gatewayUrl: string;
  /** The models as codex ships them, for the next app-server. Default: those of `homes`. */
  readonly entries?: () => readonly JsonObject[];
  /** Number of app-servers. */
  readonly size: number;
  /** App-servers end after so long without a run. Default: ten minutes. */
  readonly idleMs?: number;
  readonly hangTimeoutMs: number;
  readonly maxRssMb: number;
  readonly maxHomeMb: number;
  readonly maxThreads: number;
  readonly logger: Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;
  /** What is reported of the connections to app-servers: counters of the caller. */
  readonly connection?: Partial<
    Pick<
      AppServerSettings,
      'onCall' | 'onUnknownNotification' | 'onMalformedLine' | 'onVersion' | 'onWarning'
    >
  >;
  /** Called with the number of processes that a clean-up had to kill, if any. */
  readonly onLeftovers?: (count: number) => void;
  /** For tests: starts the process. */
  readonly start?: StartWorker | undefined;
}

const IDLE_MS = 10 * 60_000;
/** How long a run waits for an app-server. */
const WAIT_MS = 20_000;

/** Opens no app-server: the first one starts with the first run. Removes what earlier processes have left. */
export const openAgentWorkers = async (options: AgentWorkersOptions): Promise<AgentWorkers> => {
  const folders = path.resolve(options.stateDir, 'run');
  await makePrivateDirectory(folders);
  return new RunPlaces(options, folders, await layoutOf(options));
};

/** A class because its parts share much mutable state; callers see only the interface above. */
class RunPlaces implements AgentWorkers {
  readonly #options: AgentWorkersOptions;
  readonly #folders: string;
  readonly #layout: SandboxLayout;
  /** Runs of earlier processes may still change a workspace until then. */
  readonly #swept: Promise<void>;
  /** Places, and clean-ups. */
  readonly #open = new Set<Promise<unknown>>();
  #pool: StartedPool | null = null;
  #idle: NodeJS.Timeout | null = null;
  #draining: Promise<void> | null = null;

  constructor(options: AgentWorkersOptions, folders: string, layout: SandboxLayout) {
    this.#options = options;
    this.#folders = folders;
    this.#layout = layout;
    this.#swept = this.#sweep();
  }

  async open({ workspace, access }: AgentPlaceRequest, signal: AbortSignal): Promise<AgentPlace> {
    signal.throwIfAborted();
    if (this.#draining !== null) throw gatewayError('shutting_down');
    const over = Promise.withResolvers<void>();
    this.#hold(over.promise);
    try {
      await unlessAborted(this.#swept, signal);
      if (workspace !== null) await requireFolder(workspace);
      const { lease, worker } = await this.#lease(signal);
      const opened = { workspace, access, lease, worker, isOver: () => over.resolve() };
      return await this.#placeOn(opened).catch((error: unknown) => {
        lease.release();
        throw error;
      });
    } catch (error) {
      over.resolve();
      throw error;
    }
  }

  drain(timeoutMs: number): Promise<void> {
    this.#draining ??= this.#drain(timeoutMs);
    return this.#draining;
  }

  async #drain(timeoutMs: number): Promise<void> {
    if (this.#idle !== null) clearTimeout(this.#idle);
    await within(Promise.allSettled(this.#open), timeoutMs);
    // Runs that have not ended lose their app-server, and clean up.
    await this.#pool?.drain(0);
    await within(Promise.allSettled([...this.#open, this.#swept]), CLOSE_MS);
  }

  async #placeOn({ workspace, access, lease, worker, isOver }: OpenedLease): Promise<AgentPlace> {
    const since = await processTime();
    const folder = await createRunDirectory(this.#folders, 'agent').catch(async (cause: unknown) => {
      throw new GatewayError(startFailure(cause) ?? failure('worker_unavailable'), { cause });
    });
    const run = { folder, since, lease, worker, hasCommands: workspace !== null };
    let closing: Promise<CleanUp> | null = null;
    const agentsMd = workspace === null ? null : await this.#agentsMdOf(workspace);
    return {
      appServer: lease.appServer,
      thread:
        workspace === null
          ? threadWithoutWorkspace(folder.path)
          : workspaceThread(workspace, access, { layout: this.#layout, runFolder: folder.path }),
      agentsMd,
      lost: worker.lost,
      close: (thread) => (closing ??= this.#close(run, thread).finally(isOver)),
    };
  }

  async #close(
    { folder, since, lease, worker, hasCommands }: OpenRun,
    thread: AgentThread | null,
  ): Promise<CleanUp> {
    const { logger, onLeftovers } = this.#options;
    if (thread !== null && !worker.lost.aborted && !(await endThread(lease.appServer, thread))) {
      logger.warn({ pid: worker.pid }, 'an app-server of agents did not end a thread, and is killed');
      void worker.kill();
    }
    lease.release();
    // Without a thread there were no commands.
    const leftovers =
      hasCommands && thread !== null ? await killLeftovers(path.basename(folder.path), { since }) : 0;
    await folder
      .remove()
      .catch((err: unknown) => logger.warn({ err }, 'the folder of a run was not removed'));
    if (leftovers > 0) onLeftovers?.(leftovers);
    return { leftovers };
  }

  /** Keeps the app-servers until the promise has settled. */
  #hold(over: Promise<void>): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    const held = over.finally(() => {
      this.#open.delete(held);
      if (this.#open.size > 0 || this.#draining !== null) return;
      this.#idle = setTimeout(() => this.#rest(), this.#options.idleMs ?? IDLE_MS).unref();
    });
    this.#open.add(held);
  }

  /** Idle sessions need no app-server. */
  #rest(): void {
    const pool = this.#pool;
    this.#pool = null;
    void pool?.drain(0);
  }

  async #lease(signal: AbortSignal): Promise<{ readonly lease: WorkerLease; readonly worker: Worker }> {
    const started = (this.#pool ??= this.#startPool());
    try {
      await unlessAborted(started.ready, signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (this.#pool === started) this.#pool = null;
      throw new GatewayError(startFailure(cause) ?? failure('worker_unavailable'), { cause });
    }
    return started.lease(signal);
  }

  #startPool(): StartedPool {
    return new StartedPool(this.#options, this.#layout);
  }

  /** Ends what processes of this server have left that were killed. */
  async #sweep(): Promise<void> {
    const rescue = async (folder: string): Promise<void> => {
      const count = await killLeftovers(path.basename(folder), { since: null });
      if (count > 0) this.#options.onLeftovers?.(count);
    };
    await sweepRunDirectories(this.#folders, rescue, 'agent').catch((err: unknown) =>
      this.#options.logger.warn({ err }, 'the folders of earlier runs were not removed'),
    );
  }

  async #agentsMdOf(workspace: Workspace): Promise<string | null> {
    if (workspace.hide.some((hidden) => path.normalize(hidden) === AGENTS_MD)) return null;
    const text = await readAgentsMd(path.join(workspace.path, AGENTS_MD));
    if (text.problem !== null) {
      this.#options.logger.warn({ workspace: workspace.label }, `${AGENTS_MD} is not read: ${text.problem}`);
    }
    return text.text;
  }
}

/** A clean-up takes less. */
const CLOSE_MS = 15_000;

interface OpenedLease extends AgentPlaceRequest {
  readonly lease: WorkerLease;
  readonly worker: Worker;
  readonly isOver: () => void;
}

interface OpenRun {
  readonly folder: RunDirectory;
  readonly since: ProcessTime;
  readonly lease: WorkerLease;
  readonly worker: Worker;
  readonly hasCommands: boolean;
}

/** App-servers from a first run until there were none for a while. */
class StartedPool {
  readonly #pool: WorkerPool;
  readonly #workers = new WeakMap<AppServer, Worker>();
  readonly ready: Promise<void>;

  constructor(options: AgentWorkersOptions, layout: SandboxLayout) {
    const spawn = spawnerOf(options, layout);
    this.#pool = createWorkerPool({
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
      onEvent: (event) => reportEvent(event, options.logger),
    });
    this.ready = this.#pool.start();
    // Each lease reports it.
    this.ready.catch(() => {});
  }

  async lease(signal: AbortSignal): Promise<{ readonly lease: WorkerLease; readonly worker: Worker }> {
    const lease = await this.#pool.lease(signal);
    const worker = this.#workers.get(lease.appServer);
    if (worker === undefined) throw new Error('a lease of an unknown worker');
    return { lease, worker };
  }

  drain(timeoutMs: number): Promise<void> {
    return this.#pool.drain(timeoutMs);
  }
}

const spawnerOf = (options: AgentWorkersOptions, layout: SandboxLayout): (() => Promise<Worker>) => {
  const { homes, workspaces, gatewayUrl, entries, logger, connection = {} } = options;
  const profiles = {
    [EMPTY_PROFILE]: emptyProfile(layout),
    ...Object.fromEntries(
      workspaces.map((workspace) => [
        profileName(workspace),
        sandboxProfile(workspace, workspace.access, { layout, runFolder: null }),
      ]),
    ),
  };
  return createWorkerSpawner({
    ...connection,
    backend: { kind: 'none' },
    homes: {
      ...homes,
      create: () =>
        homes.createForAgents({
          modelUrl: gatewayUrl,
          entries: entries?.() ?? homes.bundled,
          sandbox: { profiles, standard: EMPTY_PROFILE },
          folders: workspaces.flatMap(({ path: folder, configuredPath }) => [folder, configuredPath]),
        }),
    },
    start: options.start,
    reportsContent: true,
    reportsTools: true,
    clientInfo: { name: 'codex-app-server-proxy', title: null, version: VERSION },
    onStderr: (line) => logger.debug({ line }, 'app-server stderr'),
    onListenerError: (err) => logger.error({ err }, 'a run could not handle a notification'),
  });
};

const EMPTY_PROFILE = 'nothing';
/** The profile of commands that are run without a thread. */
const profileName = ({ label }: Workspace): string => `workspace-${label}`;

const reportEvent = (event: WorkerPoolEvent, logger: AgentWorkersOptions['logger']): void => {
  const { kind, ...facts } = event;
  const isTrouble = kind === 'worker-lost' || kind === 'worker-ill' || kind === 'start-failed';
  logger[isTrouble ? 'warn' : 'info'](facts, `agents: ${kind}`);
};

const unavailable = ({ label }: Workspace, why: string, cause?: unknown): GatewayError =>
  new GatewayError(
    failure('mcp_server_unavailable', { message: `The workspace '${label}' could not be used: ${why}.` }),
    { cause },
  );

/** A folder may go while the server runs, or become a link to another one. */
const requireFolder = async (workspace: Workspace): Promise<void> => {
  const found = await stat(workspace.path).catch((error: unknown) => {
    throw unavailable(workspace, 'its folder does not exist any more or cannot be read', error);
  });
  if (!found.isDirectory()) throw unavailable(workspace, 'it is not a folder any more');
  if ((await realpath(workspace.path)) !== workspace.path)
    throw unavailable(workspace, 'its folder is elsewhere now');
};

const AGENTS_MD = 'AGENTS.md';
const MAX_AGENTS_MD_BYTES = 32 * 1024;

/** The content of a file that anyone may have written. No file is no problem. */
const readAgentsMd = async (
  file: string,
): Promise<{ readonly text: string | null; readonly problem: string | null }> => {
  const not = (problem: string | null) => ({ text: null, problem });
  // A link could lead out of the workspace, and a pipe would never end.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    await using handle = await open(file, flags);
    const found = await handle.stat();
    if (!found.isFile()) return not('it is not a regular file');
    if (found.size > MAX_AGENTS_MD_BYTES) return not('it has more than 32 KiB');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_AGENTS_MD_BYTES));
    const text = new TextDecoder('utf-8', { fatal: true }).decode(buffer.subarray(0, bytesRead));
    return { text: text.trim() === '' ? null : text, problem: null };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return not(null);
    if (code === 'ELOOP') return not('it is a link');
    return not(
      code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
        ? 'it is not UTF-8'
        : `it cannot be read (${String(code)})`,
    );
  }
};

const layoutOf = async ({ homes, stateDir, secretPaths }: AgentWorkersOptions): Promise<SandboxLayout> => {
  const binary = await realpath(homes.binary.path);
  const search = path.join(path.dirname(binary), '..', 'codex-path');
  const hasSearch = await stat(search).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const secrets = [stateDir, homes.loginHome, ...secretPaths].map((secret) => path.resolve(secret));
  const real = await Promise.all(secrets.map((secret) => realpath(secret).catch(() => secret)));
  return {
    codexPaths: [binary, ...(hasSearch ? [search] : [])],
    programFolders: [...PROGRAM_FOLDERS, ...(hasSearch ? [search] : [])],
    secretPaths: outermost([...secrets, ...real]),
    language: process.env['LANG'] ?? 'C.UTF-8',
  };
};

/** The sandbox cannot hide what lies in a hidden folder. */
const outermost = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].filter(
    (inner, _, all) => !all.some((outer) => outer !== inner && inner.startsWith(`${outer}${path.sep}`)),
  );

const PROGRAM_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];

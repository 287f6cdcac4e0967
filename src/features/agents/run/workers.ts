import { randomBytes } from 'node:crypto';
import { mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';

import { failure, gatewayError, GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { AppServer } from '../../../codex/app-server.ts';
import { makePrivateDirectory } from '../../../codex/home/files.ts';
import {
  createRunDirectory,
  removeTree,
  sweepRunDirectories,
  type RunDirectory,
} from '../../../codex/home/run-directories.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import { startFailure } from '../../../codex/worker/supervisor.ts';
import { unlessAborted, within } from '../../../kit/async/wait.ts';
import { endThread, killLeftovers, processTime, type AgentThread, type ProcessTime } from './clean-up.ts';
import {
  runCommand,
  searchFiles,
  type CommandResult,
  type FoundFile,
  type WorkspaceCommand,
} from './commands.ts';
import { AgentPool, type AgentServerOptions, type LeasedWorker } from './pool.ts';
import {
  isNarrowed,
  lies,
  SYSTEM_FOLDERS,
  loginFiles,
  threadWithoutWorkspace,
  workspaceThread,
  type AgentPlaceRequest,
  type SandboxLayout,
} from './profile.ts';
import {
  foldersAroundHidden,
  hiddenNow,
  keepFolders,
  makeProtected,
  mayOpenGit,
  Placeholders,
  readAgentsMd,
  requireFolder,
  unavailable,
} from './workspace-folder.ts';

/** What needs no model. */
export interface WorkspaceCommands {
  /**
   * Runs a program in the sandbox of a workspace. Rejects with a `GatewayError` if it cannot start; if the signal is aborted,
   * with its reason after the program was ended.
   */
  exec(command: WorkspaceCommand, signal: AbortSignal): Promise<CommandResult>;
  /** Finds files by parts of their names, best first. Rejects in the same way. */
  searchFiles(workspace: Workspace, query: string, signal: AbortSignal): Promise<readonly FoundFile[]>;
}

/** The app-servers in which agents work, and the folders of their runs. */
export interface AgentWorkers extends WorkspaceCommands {
  /**
   * Leases an app-server and makes the folder of a run. Rejects with a `GatewayError`: `worker_unavailable`, or
   * `mcp_server_unavailable` if the workspace is gone. If the signal is aborted, rejects with its reason.
   */
  open(place: AgentPlaceRequest, signal: AbortSignal): Promise<AgentPlace>;
  /** Waits up to `timeoutMs` for the runs, then ends all app-servers, and what they have left. */
  drain(timeoutMs: number): Promise<void>;
}

/** Where one run works, from its start to its clean-up. */
export interface AgentPlace extends PreparedThread {
  readonly appServer: AppServer;
  /**
   * Ends what the run has started, closes its thread, removes its folder and gives the app-server back. Null: no thread
   * was started. Never rejects, and always ends. Only the first call counts.
   */
  close(thread: AgentThread | null, calls?: CallsAtEnd): Promise<CleanUp>;
  /** Aborted when the app-server is lost. */
  readonly lost: AbortSignal;
}

/**
 * Whether calls were running when a run ended. Only a command that is ended within its first moments survives its end, and
 * appears late.
 */
export type CallsAtEnd = 'ended' | 'cut';

/** What the thread of a run begins with. */
interface PreparedThread {
  /** Members of `thread/start`: folder, policies, sandbox and environment of the commands. */
  readonly thread: Partial<ParamsOf<'thread/start'>>;
  /** AGENTS.md at the root of the workspace (a regular file, UTF-8, at most 32 KiB); null: there is none. */
  readonly agentsMd: string | null;
}

export interface CleanUp {
  /** Processes that codex left behind, and that were killed. */
  readonly leftovers: number;
}

export interface AgentWorkersOptions extends AgentServerOptions {
  /** The folder below which the folders of runs are made. Commands cannot read it. */
  readonly stateDir: string;
  /**
   * Files of the configuration, and others besides the state folder and the login that commands cannot read. Of a file that
   * is its folder.
   */
  readonly secretPaths: readonly string[];
  /** App-servers end after so long without a run. Default: ten minutes. */
  readonly idleMs?: number;
  /** Called with the number of processes that a clean-up had to kill, if any. */
  readonly onLeftovers?: (count: number) => void;
}

const IDLE_MS = 10 * 60_000;

/** Opens no app-server: the first one starts with the first run. Removes what earlier processes have left. */
export const openAgentWorkers = async (options: AgentWorkersOptions): Promise<AgentWorkers> => {
  await makePrivateDirectory(path.resolve(options.stateDir, 'run'));
  const layout = await layoutOf(options);
  return new RunPlaces(options, path.join(layout.stateDir, 'run'), layout);
};

/** A class because its parts share much mutable state; callers see only the interface above. */
class RunPlaces implements AgentWorkers {
  readonly #options: AgentWorkersOptions;
  readonly #folders: string;
  readonly #layout: SandboxLayout;
  readonly #placeholders = new Placeholders();
  /** Runs of earlier processes may still change a workspace until then. */
  readonly #swept: Promise<void>;
  /** Places, and clean-ups. */
  readonly #open = new Set<Promise<unknown>>();
  #pool: AgentPool | null = null;
  #idle: NodeJS.Timeout | null = null;
  #draining: Promise<void> | null = null;

  constructor(options: AgentWorkersOptions, folders: string, layout: SandboxLayout) {
    this.#options = options;
    this.#folders = folders;
    this.#layout = layout;
    this.#swept = this.#sweep();
  }

  async open({ workspace, access }: AgentPlaceRequest, signal: AbortSignal): Promise<AgentPlace> {
    const isOver = this.#hold(signal);
    try {
      if (workspace !== null) await requireFolder(workspace);
      const leased = await this.#lease(signal);
      return await this.#placeOn({ workspace, access, leased, isOver }).catch((error: unknown) => {
        leased.release();
        throw error;
      });
    } catch (error) {
      isOver();
      throw error;
    }
  }

  exec(command: WorkspaceCommand, signal: AbortSignal): Promise<CommandResult> {
    const { workspace, access } = command;
    return this.#withWorker(workspace, signal, async (leased) => {
      const { fixedFolders = [] } = leased.sandboxOf(workspace);
      await keepFolders(workspace, fixedFolders);
      const leave = await this.#enter(workspace, access, { hidden: workspace.hide, fixed: fixedFolders });
      try {
        if (workspace.git && access === 'write' && !(await mayOpenGit(workspace)))
          throw unavailable(workspace, '`.git` is a link');
        return await this.#inOwnHome(leased.sandboxOf(workspace).runFolder, (home) =>
          runCommand(leased, command, { home, signal }),
        );
      } finally {
        for (const remove of leave) await remove();
      }
    });
  }

  /** Commands of several keys use a workspace: none finds what another has left in its home. */
  async #inOwnHome<Result>(parent: string, work: (home: string) => Promise<Result>): Promise<Result> {
    const home = path.join(parent, `command-${randomBytes(8).toString('hex')}`);
    await mkdir(home, { mode: 0o700 }).catch(cannotStart);
    try {
      return await work(home);
    } finally {
      await removeTree(home).catch((err: unknown) =>
        this.#options.logger.warn({ err }, 'the folder of a command was not removed'),
      );
    }
  }

  searchFiles(workspace: Workspace, query: string, signal: AbortSignal): Promise<readonly FoundFile[]> {
    return this.#withWorker(workspace, signal, ({ appServer }) =>
      searchFiles(appServer, { workspace, query }, signal),
    );
  }

  async #withWorker<Result>(
    workspace: Workspace,
    signal: AbortSignal,
    work: (leased: LeasedWorker) => Promise<Result>,
  ): Promise<Result> {
    const isOver = this.#hold(signal);
    try {
      await requireFolder(workspace);
      const leased = await this.#lease(signal);
      try {
        return await work(leased);
      } finally {
        leased.release();
      }
    } finally {
      isOver();
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
    await this.#pool?.drain();
    await within(Promise.allSettled([...this.#open, this.#swept]), CLOSE_MS);
  }

  async #placeOn({ workspace, access, leased, isOver }: OpenedLease): Promise<AgentPlace> {
    const since = await processTime();
    const folder = await createRunDirectory(this.#folders, 'agent').catch(cannotStart);
    const run: OpenRun = { folder, since, leased, leave: [] };
    let closing: Promise<CleanUp> | null = null;
    const close: AgentPlace['close'] = (thread, calls = 'cut') =>
      (closing ??= this.#close(run, thread, calls).finally(isOver));
    const common = { appServer: leased.appServer, lost: leased.worker.lost, close };
    if (workspace === null) return { ...common, thread: threadWithoutWorkspace(folder.path), agentsMd: null };
    try {
      return { ...common, ...(await this.#furnish(workspace, access, run)) };
    } catch (error) {
      await close(null);
      throw error;
    }
  }

  /** Prepares the folder of a run, and the workspace for its commands. */
  async #furnish(workspace: Workspace, access: Workspace['access'], run: OpenRun): Promise<PreparedThread> {
    const layout = this.#layout;
    const runFolder = run.folder.path;
    for (const [name, text] of Object.entries(loginFiles(workspace, layout)))
      await writeFile(path.join(runFolder, name), text, { mode: 0o600 });
    const { fixedFolders = [] } = run.leased.sandboxOf(workspace);
    await keepFolders(workspace, fixedFolders);
    run.leave = await this.#enter(workspace, access, { fixed: fixedFolders });
    const { text, problem } = await readAgentsMd(workspace);
    if (problem !== null) this.#options.logger.warn({ workspace: workspace.label }, problem);
    const git = workspace.git && access === 'write' && (await mayOpenGit(workspace));
    const present = { ...workspace, git, hide: await hiddenNow(workspace) };
    const sandbox = { layout, runFolder, fixedFolders };
    return { thread: workspaceThread(present, access, sandbox), agentsMd: text };
  }

  async #close(
    { folder, since, leased, leave }: OpenRun,
    thread: AgentThread | null,
    calls: CallsAtEnd,
  ): Promise<CleanUp> {
    const { logger, onLeftovers } = this.#options;
    const { appServer, worker } = leased;
    const isLost = worker.lost.aborted;
    const end = thread === null || isLost ? null : await endThread(appServer, thread);
    if (end?.isAnswered === false) {
      logger.warn({ pid: worker.pid }, 'an app-server of agents did not end a thread, and is killed');
      void worker.kill();
    }
    leased.release();
    const isCalm = calls === 'ended' && end?.isAnswered === true && !end.hadCommands;
    const looks = isCalm ? { since, looksMs: [0] } : { since };
    // Without a thread or a workspace there were no commands.
    const mayHaveLeft = thread !== null && leave.length > 0;
    const leftovers = mayHaveLeft ? await killLeftovers(path.basename(folder.path), looks) : 0;
    for (const remove of leave) await remove();
    await folder
      .remove()
      .catch((err: unknown) => logger.warn({ err }, 'the folder of a run was not removed'));
    if (leftovers > 0) onLeftovers?.(leftovers);
    return { leftovers };
  }

  /** Call the results after the last command. */
  async #enter(
    workspace: Workspace,
    access: Workspace['access'],
    { hidden = [], fixed = [] }: { readonly hidden?: readonly string[]; readonly fixed?: readonly string[] },
  ): Promise<readonly (() => Promise<void>)[]> {
    const inside = [workspace.path, ...inWorkspace(workspace, fixed)];
    const further = isNarrowed(workspace, access) ? [] : workspace.write;
    const leave = await Promise.all(
      [...inside, ...further].map((folder) => this.#placeholders.enter(folder, hidden)),
    );
    await Promise.all([...(access === 'write' ? inside : []), ...further].map(makeProtected));
    return leave;
  }

  /** Keeps the app-servers until the result, which is idempotent, is called. */
  #hold(signal: AbortSignal): () => void {
    signal.throwIfAborted();
    if (this.#draining !== null) throw gatewayError('shutting_down');
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#open.add(promise);
    return () => {
      if (!this.#open.delete(promise)) return;
      resolve();
      if (this.#open.size > 0 || this.#draining !== null) return;
      this.#idle = setTimeout(() => this.#rest(), this.#options.idleMs ?? IDLE_MS).unref();
    };
  }

  /** Idle sessions need no app-server. */
  #rest(): void {
    const pool = this.#pool;
    this.#pool = null;
    void pool?.drain();
  }

  async #lease(signal: AbortSignal): Promise<LeasedWorker> {
    await unlessAborted(this.#swept, signal);
    const pool = (this.#pool ??= new AgentPool({
      ...this.#options,
      layout: this.#layout,
      folders: this.#folders,
    }));
    try {
      await unlessAborted(pool.ready, signal);
    } catch (cause) {
      signal.throwIfAborted();
      // The next run tries again.
      if (this.#pool === pool) this.#pool = null;
      void pool.drain();
      return cannotStart(cause);
    }
    return pool.lease(signal);
  }

  /** Ends what processes of this server have left that were killed. */
  async #sweep(): Promise<void> {
    const rescue = async (folder: string): Promise<void> => {
      const count = await killLeftovers(path.basename(folder), { since: null });
      if (count > 0) this.#options.onLeftovers?.(count);
      for (const workspace of this.#options.workspaces) {
        const fixed = inWorkspace(workspace, await foldersAroundHidden(workspace));
        const changed = [workspace.path, ...fixed, ...workspace.write];
        await Promise.all(changed.map((one) => Placeholders.removeAll(one)));
      }
    };
    await sweepRunDirectories(this.#folders, rescue, 'agent').catch((err: unknown) =>
      this.#options.logger.warn({ err }, 'the folders of earlier runs were not removed'),
    );
  }
}

const cannotStart = (cause: unknown): never => {
  throw new GatewayError(startFailure(cause) ?? failure('worker_unavailable'), { cause });
};

const inWorkspace = (workspace: Workspace, folders: readonly string[]): readonly string[] =>
  folders.map((folder) => path.join(workspace.path, folder));

/** A clean-up takes less. */
const CLOSE_MS = 15_000;

interface OpenedLease extends AgentPlaceRequest {
  readonly leased: LeasedWorker;
  readonly isOver: () => void;
}

interface OpenRun {
  readonly folder: RunDirectory;
  readonly since: ProcessTime;
  readonly leased: LeasedWorker;
  /** Removes what codex leaves in the folders that commands may see. */
  leave: readonly (() => Promise<void>)[];
}

const layoutOf = async ({
  homes,
  stateDir,
  secretPaths,
  workspaces,
}: AgentWorkersOptions): Promise<SandboxLayout> => {
  const binary = await realpath(homes.binary.path);
  const search = path.join(path.dirname(path.dirname(binary)), 'codex-path');
  const hasSearch = await stat(search).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const real = (file: string): Promise<string> => realpath(file).catch(() => path.resolve(file));
  const secrets = await Promise.all([homes.loginHome, ...secretPaths].map(real));
  return {
    binary,
    searchFolder: hasSearch ? search : null,
    stateDir: await real(stateDir),
    secretPaths: await Promise.all(secrets.map((secret) => withItsFolder(secret, binary))),
    workspacePaths: workspaces.map(({ path: folder }) => folder),
  };
};

/** The folder of a file, because other secrets lie next to it; the file if programs lie there too. */
const withItsFolder = async (file: string, binary: string): Promise<string> => {
  const folder = path.dirname(file);
  const isFile = await stat(file).then(
    (found) => found.isFile(),
    () => false,
  );
  return isFile && !SYSTEM_FOLDERS.includes(folder) && !lies(binary, folder) ? folder : file;
};

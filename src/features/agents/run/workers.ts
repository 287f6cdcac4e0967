import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { AppServer, AppServerSettings } from '../../../codex/app-server.ts';
import type { CodexHomes } from '../../../codex/home/prepare-home.ts';
import type { ParamsOf } from '../../../codex/protocol/methods.ts';
import type { StartWorker } from '../../../codex/worker/worker.ts';
import type { JsonObject } from '../../../kit/json/json.ts';
import type { Logger } from '../../../observe/log.ts';

/** The app-servers in which agents work, and the folders of their runs. */
export interface AgentWorkers {
  /**
   * Leases an app-server and makes the folder of a run. Rejects with a `GatewayError`: `worker_unavailable`, or
   * `mcp_server_unavailable` if the workspace is gone. If the signal is aborted, rejects with its reason.
   */
  open(place: AgentPlaceRequest, signal: AbortSignal): Promise<AgentPlace>;
  /** Waits up to `timeoutMs` for the runs, then ends all app-servers. */
  drain(timeoutMs: number): Promise<void>;
}

export interface AgentPlaceRequest {
  /** Null: no folder, and none of codex's tools. */
  readonly workspace: Workspace | null;
  /** May be narrower than that of the workspace. */
  readonly access: Workspace['access'];
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
   * was started. Never rejects, and always ends. Idempotent.
   */
  close(thread: AgentThread | null): Promise<CleanUp>;
  /** Aborted when the app-server is lost. */
  readonly lost: AbortSignal;
}

export interface AgentThread {
  readonly threadId: string;
  /** Null: no turn was started. */
  readonly turnId: string | null;
}

export interface CleanUp {
  /** Processes that codex left behind, and that were killed. */
  readonly leftovers: number;
}

export interface AgentWorkersOptions {
  readonly homes: CodexHomes;
  /** The folder below which the folders of runs are made. Commands cannot read it. */
  readonly stateDir: string;
  /** Files and folders besides the state folder that commands cannot read: those of the configuration. */
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

/** Opens no app-server: the first one starts with the first run. Removes what earlier processes have left. */
export const openAgentWorkers = async (options: AgentWorkersOptions): Promise<AgentWorkers> => {
  throw new Error(`not yet ${options.size}`);
};

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { AskedFor } from '../../../codex/protocol/server-requests.ts';
import type { Core } from '../../../compose/feature.ts';
import { createAgentRuns } from './agent-runs.ts';
import { openAgentGateway } from './gateway.ts';
import { measuredRuns, type RunReports } from './measured-runs.ts';
import type { AgentRuns } from './port.ts';
import { WorkspaceRooms } from './rooms.ts';
import { openAgentWorkers, type WorkspaceCommands } from './workers.ts';

export interface OpenRuns {
  readonly runs: AgentRuns;
  /** Commands and searches without a model. */
  readonly workers: WorkspaceCommands;
  /** What they have to enter. */
  readonly rooms: WorkspaceRooms;
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface OpenRunsOptions {
  /** Number of app-servers. */
  readonly size: number;
  /** Called with the number of processes that a clean-up had to kill. */
  readonly onLeftovers: (count: number) => void;
  /** Called when codex asked for more than its sandbox gives. */
  readonly onRefused: (what: AskedFor) => void;
  readonly reports: RunReports;
}

/** Without a workspace nothing runs. */
export const NO_RUNS: OpenRuns = {
  runs: {
    start: () => Promise.reject(gatewayError('worker_unavailable')),
    free: () => 0,
    whenFree: () => () => {},
  },
  workers: {
    exec: () => Promise.reject(gatewayError('worker_unavailable')),
    searchFiles: () => Promise.reject(gatewayError('worker_unavailable')),
  },
  rooms: new WorkspaceRooms(),
  drain: async () => {},
  close: async () => {},
};

/** Opens what runs agents: their app-servers, and the gateway that answers the model requests of these. */
export const openRuns = async (
  { ambient, appServers, login, logger, secretPaths, stateDir, workspaces }: Core,
  { onRefused, reports, ...options }: OpenRunsOptions,
): Promise<OpenRuns> => {
  const onBug = (err: unknown): void => logger.error({ err }, 'a run failed unexpectedly');
  const gateway = await openAgentGateway({ ambient, onBug });
  const workers = await openAgentWorkers({
    ...appServers,
    ...options,
    homes: login.homes,
    stateDir,
    secretPaths,
    workspaces,
    gatewayUrl: gateway.url,
    logger,
  });
  const rooms = new WorkspaceRooms(reports.onInside);
  const runs = createAgentRuns({ workers, gateway, ambient, onRefused, onBug }, rooms);
  return {
    runs: measuredRuns(runs, { clock: ambient.clock, reports }),
    workers,
    rooms,
    drain: (timeoutMs) => workers.drain(timeoutMs),
    async close() {
      await workers.drain(0);
      await gateway.close();
    },
  };
};

import type { Core } from '../../../compose/feature.ts';
import { createAgentRuns } from './agent-runs.ts';
import { openAgentGateway } from './gateway.ts';
import { measuredRuns, type RunReports } from './measured-runs.ts';
import type { AgentRuns } from './port.ts';
import { WorkspaceRooms } from './rooms.ts';
import { openAgentWorkers, type AgentWorkersOptions, type WorkspaceCommands } from './workers.ts';

export interface OpenRuns {
  readonly runs: AgentRuns;
  /** Commands and searches without a model. */
  readonly workers: WorkspaceCommands;
  /** What they have to enter. */
  readonly rooms: WorkspaceRooms;
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface OpenRunsOptions extends Pick<AgentWorkersOptions, 'size' | 'secretPaths' | 'onLeftovers'> {
  readonly onRefused: Parameters<typeof createAgentRuns>[0]['onRefused'];
  readonly reports: RunReports;
}

/** Opens what runs agents: their app-servers, and the gateway that answers the model requests of these. */
export const openRuns = async (
  { ambient, appServers, login, logger, stateDir, workspaces }: Core,
  { onRefused, reports, ...options }: OpenRunsOptions,
): Promise<OpenRuns> => {
  const onBug = (err: unknown): void => logger.error({ err }, 'a run failed unexpectedly');
  const gateway = await openAgentGateway({ ambient, onBug });
  const workers = await openAgentWorkers({
    ...options,
    ...appServers,
    homes: login.homes,
    stateDir,
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

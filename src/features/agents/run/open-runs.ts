import type { Core } from '../../../compose/feature.ts';
import type { AskedFor } from '../../../codex/protocol/server-requests.ts';
import { createAgentRuns } from './agent-runs.ts';
import { countedRuns, type RunCounters } from './counted-runs.ts';
import { openAgentGateway } from './gateway.ts';
import type { AgentRuns } from './port.ts';
import { openAgentWorkers } from './workers.ts';

export interface OpenRuns {
  readonly runs: AgentRuns;
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface OpenRunsOptions extends RunCounters {
  /** Number of app-servers. */
  readonly size: number;
  /** Called with the number of processes that a clean-up had to kill. */
  readonly onLeftovers: (count: number) => void;
  /** Called when codex asked for more than its sandbox gives. */
  readonly onRefused: (what: AskedFor) => void;
}

/** Opens what runs agents: their app-servers, and the gateway that answers the model requests of these. */
export const openRuns = async (
  { ambient, appServers, login, logger, secretPaths, stateDir, workspaces }: Core,
  { onRefused, onLeftovers, size, ...counters }: OpenRunsOptions,
): Promise<OpenRuns> => {
  const onBug = (err: unknown): void => logger.error({ err }, 'a run failed unexpectedly');
  const gateway = await openAgentGateway({ ambient, onBug });
  const workers = await openAgentWorkers({
    ...appServers,
    size,
    onLeftovers,
    homes: login.homes,
    stateDir,
    secretPaths,
    workspaces,
    gatewayUrl: gateway.url,
    logger,
  });
  return {
    runs: countedRuns(createAgentRuns({ workers, gateway, ambient, onRefused, onBug }), counters),
    drain: (timeoutMs) => workers.drain(timeoutMs),
    async close() {
      await workers.drain(0);
      await gateway.close();
    },
  };
};

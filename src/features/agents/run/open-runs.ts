import type { Core } from '../../../compose/feature.ts';
import { createAgentRuns } from './agent-run.ts';
import { openAgentGateway } from './gateway.ts';
import type { AgentRuns } from './port.ts';
import { openAgentWorkers, type AgentWorkersOptions } from './workers.ts';

export interface OpenRuns {
  readonly runs: AgentRuns;
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
}

export interface OpenRunsOptions extends Pick<AgentWorkersOptions, 'size' | 'secretPaths' | 'onLeftovers'> {
  readonly onRefused: Parameters<typeof createAgentRuns>[0]['onRefused'];
}

/** Opens what runs agents: their app-servers, and the gateway that answers the model requests of these. */
export const openRuns = async (
  { ambient, appServers, login, logger, stateDir, workspaces }: Core,
  { onRefused, ...options }: OpenRunsOptions,
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
  return {
    runs: createAgentRuns({ workers, gateway, ambient, onRefused, onBug }),
    drain: (timeoutMs) => workers.drain(timeoutMs),
    async close() {
      await workers.drain(0);
      await gateway.close();
    },
  };
};

import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { fitsWildcard } from '../../kit/text/patterns.ts';
import { openDoor } from './door/door.ts';
import type { AGENT_TABLES } from './feature.ts';

/** Without a workspace in the configuration nothing of it runs but the tools of `/mcp` that need none. */
export const openAgents = async (
  core: Core,
  { offers }: Own<typeof AGENT_TABLES>,
): Promise<OpenFeature<typeof AGENT_TABLES>> => {
  const door = openDoor({
    core,
    agents: () => null,
    workspacesOf: (keyId) => {
      const patterns = offers.workspacesOf(keyId);
      return core.workspaces.filter(
        ({ label }) => patterns === 'all' || patterns.some((pattern) => fitsWildcard(pattern, label)),
      );
    },
    approvalMs: core.agentLimits.actionTimeoutMs,
  });
  return {
    routes: door.routes,
    drain: async () => door.drain(),
    close: async () => door.close(),
  };
};

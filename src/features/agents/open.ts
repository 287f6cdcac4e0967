import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { AGENT_TABLES } from './feature.ts';
import { openWorkspaceAccess } from './workspaces/access.ts';
import { workspaceLister } from './workspaces/list.ts';

/** Without a workspace in the configuration nothing of it runs. */
export const openAgents = async (
  { workspaces }: Core,
  { offers }: Own<typeof AGENT_TABLES>,
): Promise<OpenFeature<typeof AGENT_TABLES>> => {
  if (workspaces.length === 0) return {};
  const access = openWorkspaceAccess(workspaces, offers.workspacesOf);
  return {
    offers: { listWorkspaces: workspaceLister({ access, runs: { free: ({ runs }) => runs } }) },
  };
};

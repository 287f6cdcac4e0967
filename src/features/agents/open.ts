import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { AGENT_TABLES } from './feature.ts';
import { changesReader } from './files/changes.ts';
import { workspaceRoutes } from './files/routes.ts';
import { openWorkspaceCommands } from './files/workspace-commands.ts';
import { approvalsInMemory } from './responses/used-approvals.ts';
import { withWorkspaces } from './responses/workspace-engine.ts';
import type { RunReports } from './run/measured-runs.ts';
import { openRuns } from './run/open-runs.ts';
import { agentStoreOf } from './store/agent-store.ts';
import { openWorkspaceAccess } from './workspaces/access.ts';
import { workspaceLister } from './workspaces/list.ts';

/** Without a workspace in the configuration only old items of workspaces are read. */
export const openAgents = async (
  core: Core,
  { offers, settings, metrics }: Own<typeof AGENT_TABLES>,
): Promise<OpenFeature<typeof AGENT_TABLES>> => {
  const { ambient, mcpServers, secretPaths, store, storeTtlMs, waits, workspaces } = core;
  const access = openWorkspaceAccess(workspaces, offers.workspacesOf);
  const reports = runReports(metrics);
  const agents = await openRuns(core, {
    size: settings.agentCount,
    secretPaths,
    onLeftovers: (count) => metrics.workspaceLeftovers.inc(count),
    onRefused: (reason) => metrics.workspaceRefusals.inc({ reason }),
    reports,
  });
  const commands = openWorkspaceCommands({ ...agents, onCall: reports.onCall });
  const listWorkspaces = workspaceLister({ access, runs: agents.runs });
  return {
    routes: workspaceRoutes({ access, commands, listWorkspaces, bodies: core.bodies }),
    offers: {
      listWorkspaces,
      readChanges: changesReader({ access, commands }),
      aroundEngine: (engine) =>
        withWorkspaces(engine, {
          workspaces,
          access,
          servers: mcpServers.map(({ label }) => label),
          runs: agents.runs,
          approvals: store === null ? approvalsInMemory(ambient.clock) : agentStoreOf(store).agentApprovals,
          keepApprovalsMs: storeTtlMs,
          maxWaitMs: waits.backgroundQueueMs,
          ambient,
          onDeclined: (workspace) => metrics.workspaceApprovals.inc({ workspace, decision: 'declined' }),
        }),
    },
    drain: (timeoutMs) => agents.drain(timeoutMs),
    close: () => agents.close(),
  };
};

const runReports = (metrics: Own<typeof AGENT_TABLES>['metrics']): RunReports => ({
  onInside: (workspace, inside) => metrics.workspaceRunsActive.set({ workspace }, inside),
  onRun(workspace, outcome, seconds) {
    metrics.workspaceRuns.inc({ workspace, outcome });
    metrics.workspaceRunSeconds.observe(seconds);
  },
  onCall: (workspace, tool, outcome) => metrics.workspaceCalls.inc({ workspace, tool, outcome }),
  onApproval: (workspace, decision, count) => metrics.workspaceApprovals.inc({ workspace, decision }, count),
});

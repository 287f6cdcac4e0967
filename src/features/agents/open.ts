import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { Ambient } from '../../kit/ambient.ts';
import type { AGENT_TABLES } from './feature.ts';
import { approvalsInMemory } from './responses/used-approvals.ts';
import { withWorkspaces } from './responses/workspace-engine.ts';
import type { RunCounters } from './run/counted-runs.ts';
import { openRuns } from './run/open-runs.ts';
import { agentStoreOf } from './store/agent-store.ts';
import { openWorkspaceAccess } from './workspaces/access.ts';
import { workspaceLister } from './workspaces/list.ts';

/** Without a workspace in the configuration only old items of workspaces are read. */
export const openAgents = async (
  core: Core,
  { offers, settings, metrics }: Own<typeof AGENT_TABLES>,
): Promise<OpenFeature<typeof AGENT_TABLES>> => {
  const { ambient, mcpServers, store, storeTtlMs, waits, workspaces } = core;
  const access = openWorkspaceAccess(workspaces, offers.workspacesOf);
  const agents = await openRuns(core, {
    size: settings.agentCount,
    onLeftovers: (count) => metrics.workspaceLeftovers.inc(count),
    onRefused: (reason) => metrics.workspaceRefusals.inc({ reason }),
    ...runCounters(metrics, ambient),
  });
  return {
    offers: {
      listWorkspaces: workspaceLister({ access, runs: agents.runs }),
      aroundEngine: (engine) =>
        withWorkspaces(engine, {
          workspaces,
          usableBy: (keyId) => access.usableBy(keyId),
          servers: mcpServers.map(({ label }) => label),
          runs: agents.runs,
          approvals: store === null ? approvalsInMemory(ambient.clock) : agentStoreOf(store).agentApprovals,
          keepApprovalsMs: storeTtlMs,
          maxWaitMs: waits.backgroundQueueMs,
          ambient,
          onApproval: (workspace, decision) => metrics.workspaceApprovals.inc({ workspace, decision }),
        }),
    },
    drain: (timeoutMs) => agents.drain(timeoutMs),
    close: () => agents.close(),
  };
};

const runCounters = (metrics: Own<typeof AGENT_TABLES>['metrics'], { clock }: Ambient): RunCounters => {
  const active = new Map<string, number>();
  const change = (workspace: string, by: number): void => {
    const now = (active.get(workspace) ?? 0) + by;
    active.set(workspace, now);
    metrics.workspaceRunsActive.set({ workspace }, now);
  };
  return {
    clock,
    onStart: (workspace) => change(workspace, 1),
    onEnd(workspace, outcome, seconds) {
      change(workspace, -1);
      metrics.workspaceRuns.inc({ workspace, outcome });
      metrics.workspaceRunSeconds.observe(seconds);
    },
    onCall: (workspace, tool, outcome) => metrics.workspaceCalls.inc({ workspace, tool, outcome }),
  };
};

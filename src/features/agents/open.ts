import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { Route } from '../../http/route.ts';
import { openDoor } from './door/door.ts';
import { AGENT_TABLES } from './feature.ts';
import { changesReader } from './files/changes.ts';
import { workspaceRoutes } from './files/routes.ts';
import { openWorkspaceCommands } from './files/workspace-commands.ts';
import { approvalsInMemory } from './responses/used-approvals.ts';
import { withWorkspaces } from './responses/workspace-engine.ts';
import type { RunReports } from './run/measured-runs.ts';
import { NO_RUNS, openRuns, type OpenRuns } from './run/open-runs.ts';
import { openSessions } from './sessions/open.ts';
import { closedRoutes } from './sessions/routes.ts';
import { agentStoreOf } from './store/agent-store.ts';
import { openWorkspaceAccess } from './workspaces/access.ts';
import { workspaceLister } from './workspaces/list.ts';

type OpenAgents = OpenFeature<typeof AGENT_TABLES>;
type AgentsOwn = Own<typeof AGENT_TABLES>;

const NO_WORKSPACE =
  'This server does not have this endpoint, because it has no workspace. Its operator has to configure one: an entry of `mcpServers` with `workspace`.';
const NO_STORE =
  'This server does not have this endpoint, because it stores nothing. Its operator set PROXY_STORE=off.';

/** Without a workspace in the configuration only old items of workspaces are read, and `/mcp` has the tools that need none. */
export const openAgents = async (core: Core, own: AgentsOwn): Promise<OpenAgents> => {
  if (core.workspaces.length === 0) return openAgentsWith(core, own, NO_RUNS);
  const { settings, metrics } = own;
  const runs = await openRuns(core, {
    size: settings.agentCount,
    onLeftovers: (count) => metrics.workspaceLeftovers.inc(count),
    onRefused: (reason) => metrics.workspaceRefusals.inc({ reason }),
    reports: runReports(metrics),
  });
  return openAgentsWith(core, own, runs);
};

/** The feature with what runs agents. */
export const openAgentsWith = (core: Core, own: AgentsOwn, agents: OpenRuns): OpenAgents => {
  const { ambient, mcpServers, store, storeTtlMs, waits, workspaces } = core;
  const { offers, metrics } = own;
  const access = openWorkspaceAccess(workspaces, offers.workspacesOf);
  const { runs } = agents;
  const sessions = workspaces.length === 0 ? null : openSessions(core, own, { runs, access });
  const door = openDoor({
    core,
    sessions: sessions?.sessions ?? null,
    workspacesOf: (keyId) => access.usableBy(keyId),
    approvalMs: core.agentLimits.actionTimeoutMs,
  });
  const commands = openWorkspaceCommands({ ...agents, onCall: runReports(metrics).onCall });
  const listWorkspaces = workspaceLister({ access, runs });
  const files = workspaceRoutes({ access, commands, listWorkspaces, bodies: core.bodies });
  const api = sessions?.routes ?? closed(workspaces.length === 0 ? NO_WORKSPACE : NO_STORE);
  return {
    routes: { ...api, ...door.routes, ...files },
    offers: {
      listWorkspaces,
      readChanges: changesReader({ access, commands }),
      aroundEngine: (engine) =>
        withWorkspaces(engine, {
          workspaces,
          usableBy: (keyId) => access.usableBy(keyId),
          servers: mcpServers.map(({ label }) => label),
          runs,
          approvals: store === null ? approvalsInMemory(ambient.clock) : agentStoreOf(store).agentApprovals,
          keepApprovalsMs: storeTtlMs,
          maxWaitMs: waits.backgroundQueueMs,
          ambient,
          onDeclined: (workspace) => metrics.workspaceApprovals.inc({ workspace, decision: 'declined' }),
        }),
    },
    start: () => sessions?.start(),
    async drain(timeoutMs) {
      const startedAt = performance.now();
      door.drain();
      // Before the workers: a turn has to say why it ended.
      await sessions?.drain(timeoutMs);
      await agents.drain(Math.max(0, timeoutMs - (performance.now() - startedAt)));
    },
    async close() {
      door.close();
      sessions?.close();
      await agents.close();
    },
  };
};

const closed = (why: string) =>
  closedRoutes(Object.keys(AGENT_TABLES.routes), why) as Readonly<
    Record<keyof typeof AGENT_TABLES.routes, Route['handle']>
  >;

const runReports = (metrics: Own<typeof AGENT_TABLES>['metrics']): RunReports => ({
  onInside: (workspace, inside) => metrics.workspaceRunsActive.set({ workspace }, inside),
  onRun(workspace, outcome, seconds) {
    metrics.workspaceRuns.inc({ workspace, outcome });
    metrics.workspaceRunSeconds.observe(seconds);
  },
  onCall: (workspace, tool, outcome) => metrics.workspaceCalls.inc({ workspace, tool, outcome }),
  onApproval: (workspace, decision, count) => metrics.workspaceApprovals.inc({ workspace, decision }, count),
});

import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { Route } from '../../http/route.ts';
import { openDoor } from './door/door.ts';
import { AGENT_TABLES } from './feature.ts';
import { approvalsInMemory } from './responses/used-approvals.ts';
import { withWorkspaces } from './responses/workspace-engine.ts';
import { openRuns, type OpenRuns } from './run/open-runs.ts';
import { openSessions } from './sessions/open.ts';
import { closedRoutes } from './sessions/routes.ts';
import { agentStoreOf } from './store/agent-store.ts';
import { openWorkspaceAccess, type WorkspaceAccess } from './workspaces/access.ts';
import { workspaceLister } from './workspaces/list.ts';

type OpenAgents = OpenFeature<typeof AGENT_TABLES>;

const NO_WORKSPACE =
  'This server does not have this endpoint: it has no workspace. Its operator has to configure one: an entry of `mcpServers` with `workspace`.';
const NO_STORE =
  'This server does not have this endpoint, because it stores nothing. Its operator set PROXY_STORE=off.';

/** Without a workspace in the configuration only old items of workspaces are read, and `/mcp` has the tools that need none. */
export const openAgents = (core: Core, own: Own<typeof AGENT_TABLES>): Promise<OpenAgents> =>
  openAgentsWith(core, own, () =>
    openRuns(core, {
      size: own.settings.agentCount,
      secretPaths: [],
      onLeftovers: (count) => own.metrics.workspaceLeftovers.inc(count),
      onRefused: (reason) => own.metrics.workspaceRefusals.inc({ reason }),
    }),
  );

/** The same with other runs. */
export const openAgentsWith = async (
  core: Core,
  own: Own<typeof AGENT_TABLES>,
  open: () => Promise<OpenRuns>,
): Promise<OpenAgents> => {
  const { workspaces } = core;
  const access = openWorkspaceAccess(workspaces, own.offers.workspacesOf);
  const { runs, ...opened } = await open();
  const sessions = workspaces.length === 0 ? null : openSessions(core, own, { runs, access });
  const door = openDoor({
    core,
    sessions: sessions?.sessions ?? null,
    workspacesOf: (keyId) => access.usableBy(keyId),
    approvalMs: core.agentLimits.actionTimeoutMs,
  });
  const noSessions = workspaces.length === 0 ? NO_WORKSPACE : NO_STORE;
  return {
    routes: { ...(sessions?.routes ?? closed(noSessions)), ...door.routes },
    offers: {
      listWorkspaces: workspaceLister({ access, runs }),
      aroundEngine: engineAround(core, own, { runs, access }),
    },
    start: () => sessions?.start(),
    async drain(timeoutMs) {
      door.drain();
      await sessions?.drain(timeoutMs);
      await opened.drain(timeoutMs);
    },
    async close() {
      door.close();
      sessions?.close();
      await opened.close();
    },
  };
};

const engineAround =
  (
    { ambient, mcpServers, store, storeTtlMs, waits, workspaces }: Core,
    { metrics }: Own<typeof AGENT_TABLES>,
    { runs, access }: Pick<OpenRuns, 'runs'> & { readonly access: WorkspaceAccess },
  ): NonNullable<NonNullable<OpenAgents['offers']>['aroundEngine']> =>
  (engine) =>
    withWorkspaces(engine, {
      workspaces,
      access,
      servers: mcpServers.map(({ label }) => label),
      runs,
      approvals: store === null ? approvalsInMemory(ambient.clock) : agentStoreOf(store).agentApprovals,
      keepApprovalsMs: storeTtlMs,
      maxWaitMs: waits.backgroundQueueMs,
      ambient,
      onApproval: (workspace, decision) => metrics.workspaceApprovals.inc({ workspace, decision }),
    });

const closed = (why: string) =>
  closedRoutes(Object.keys(AGENT_TABLES.routes), why) as Readonly<
    Record<keyof typeof AGENT_TABLES.routes, Route['handle']>
  >;

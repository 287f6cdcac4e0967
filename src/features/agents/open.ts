import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { Route } from '../../http/route.ts';
import { openDoor } from './door/door.ts';
import { AGENT_TABLES } from './feature.ts';
import type { AgentRuns } from './run/port.ts';
import { openSessions } from './sessions/open.ts';
import { closedRoutes } from './sessions/routes.ts';
import type { AgentSessions } from './sessions/service.ts';
import { openWorkspaceAccess } from './workspaces/access.ts';
import { workspaceLister } from './workspaces/list.ts';

type OpenAgents = OpenFeature<typeof AGENT_TABLES>;

/** What runs agents, and how it ends. */
export interface OpenRuns {
  readonly runs: AgentRuns;
  drain?(timeoutMs: number): Promise<void>;
  close?(): Promise<void>;
}

const NO_WORKSPACE =
  'This server does not have this endpoint: it has no workspace. Its operator has to configure one: an entry of `mcpServers` with `workspace`.';
const NO_STORE =
  'This server does not have this endpoint, because it stores nothing. Its operator set PROXY_STORE=off.';

/** Without a workspace in the configuration nothing of it runs but the tools of `/mcp` that need none. */
export const openAgents = (core: Core, own: Own<typeof AGENT_TABLES>): Promise<OpenAgents> =>
  openAgentsWith(core, own, () => {
    throw new Error('runs are not there yet');
  });

/** `openRuns` is called if there is a workspace. */
export const openAgentsWith = async (
  core: Core,
  own: Own<typeof AGENT_TABLES>,
  openRuns: (core: Core) => Promise<OpenRuns> | OpenRuns,
): Promise<OpenAgents> => {
  const { workspaces } = core;
  const access = openWorkspaceAccess(workspaces, own.offers.workspacesOf);
  let agents: AgentSessions | null = null;
  const door = openDoor({
    core,
    agents: () => agents,
    workspacesOf: (keyId) => access.usableBy(keyId),
    approvalMs: core.agentLimits.actionTimeoutMs,
  });
  const drainDoor = async (): Promise<void> => door.drain();
  const closeDoor = async (): Promise<void> => door.close();
  if (workspaces.length === 0) {
    return { routes: { ...closed(NO_WORKSPACE), ...door.routes }, drain: drainDoor, close: closeDoor };
  }
  const { runs, ...opened } = await openRuns(core);
  const sessions = openSessions(core, own, { runs, access });
  agents = sessions?.sessions ?? null;
  return {
    routes: { ...(sessions?.routes ?? closed(NO_STORE)), ...door.routes },
    offers: { listWorkspaces: workspaceLister({ access, runs }) },
    start: () => sessions?.start(),
    async drain(timeoutMs) {
      await drainDoor();
      await sessions?.drain(timeoutMs);
      await opened.drain?.(timeoutMs);
    },
    async close() {
      await closeDoor();
      sessions?.close();
      await opened.close?.();
    },
  };
};

const closed = (why: string) =>
  closedRoutes(Object.keys(AGENT_TABLES.routes), why) as Readonly<
    Record<keyof typeof AGENT_TABLES.routes, Route['handle']>
  >;

import type { McpToolList } from '../../../canonical/mcp/mcp-tools.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { Offers } from '../../../compose/feature.ts';
import type { AgentRuns } from '../run/port.ts';
import { folderTrouble } from '../run/workspace-folder.ts';
import type { WorkspaceAccess } from './access.ts';
import { workspaceTools } from './tools.ts';

export interface ListWorkspacesDeps {
  readonly access: WorkspaceAccess;
  readonly runs: Pick<AgentRuns, 'free'>;
}

/** The workspaces of a key with their state, for lists of MCP servers. */
export const workspaceLister =
  ({ access, runs }: ListWorkspacesDeps): Offers['listWorkspaces'] =>
  (keyId) =>
    Promise.all(
      access.usableBy(keyId).map(async (workspace) => ({
        workspace,
        list: toolsOf(workspace, await folderTrouble(workspace)),
        active: workspace.runs - runs.free(workspace),
      })),
    );

const toolsOf = (workspace: Workspace, lastError: string | null): McpToolList =>
  lastError === null
    ? { status: 'connected', tools: workspaceTools(workspace.access) }
    : { status: 'failed', lastError };

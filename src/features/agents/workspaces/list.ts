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
  /** Why nothing can run in it, as the end of a sentence about it; null: nothing is known. */
  readonly trouble?: (workspace: Workspace) => string | null;
}

/** The workspaces of a key with their state, for lists of MCP servers. */
export const workspaceLister =
  ({ access, runs, trouble = () => null }: ListWorkspacesDeps): Offers['listWorkspaces'] =>
  (keyId) =>
    Promise.all(
      access.usableBy(keyId).map(async (workspace) => ({
        workspace,
        list: toolsOf(workspace, (await folderTrouble(workspace)) ?? trouble(workspace)),
        active: workspace.runs - runs.free(workspace),
      })),
    );

const toolsOf = (workspace: Workspace, lastError: string | null): McpToolList =>
  lastError === null
    ? { status: 'connected', tools: workspaceTools(workspace.access) }
    : { status: 'failed', lastError };

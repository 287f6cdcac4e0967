import { stat } from 'node:fs/promises';

import type { McpToolList } from '../../../canonical/mcp/mcp-tools.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { Offers } from '../../../compose/feature.ts';
import type { AgentRuns } from '../run/port.ts';
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

/** What happened to the folder since the start, as the end of a sentence; null: nothing. */
const folderTrouble = async ({ path }: Workspace): Promise<string | null> => {
  try {
    return (await stat(path)).isDirectory() ? null : 'is not a folder any more';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'does not exist any more' : `cannot be read (${String(code)})`;
  }
};

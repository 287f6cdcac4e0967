import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { WorkspaceRooms } from '../run/rooms.ts';
import type { WorkspaceCommands } from '../run/workers.ts';

/** What changes nothing does not wait for the runs of a workspace. */
const MAX_READERS = 8;

interface CommandDeps {
  readonly workers: WorkspaceCommands;
  readonly rooms: WorkspaceRooms;
  readonly onCall: (workspace: string, tool: string, outcome: 'completed' | 'failed') => void;
}

/** Commands and searches of clients, as many as a workspace takes. One that may change something takes a place of a run. Rejects with `workspace_busy` if there is none. */
export const openWorkspaceCommands = ({ workers, rooms, onCall }: CommandDeps): WorkspaceCommands => {
  const readers = new WorkspaceRooms();
  const enter = (workspace: Workspace, access: Workspace['access']): (() => void) =>
    access === 'write' ? rooms.enter(workspace) : readers.enter({ ...workspace, runs: MAX_READERS });
  const counted = async <Result>(
    { label }: Workspace,
    { tool, leave }: { readonly tool: string; readonly leave: () => void },
    work: () => Promise<Result>,
  ): Promise<Result> => {
    try {
      const result = await work();
      onCall(label, tool, 'completed');
      return result;
    } catch (error) {
      onCall(label, tool, 'failed');
      throw error;
    } finally {
      leave();
    }
  };
  return {
    async exec(command, signal) {
      const { workspace, access } = command;
      const leave = enter(workspace, access);
      return counted(workspace, { tool: 'command/exec', leave }, () => workers.exec(command, signal));
    },
    async searchFiles(workspace, query, signal) {
      const leave = enter(workspace, 'read');
      return counted(workspace, { tool: 'fuzzyFileSearch', leave }, () =>
        workers.searchFiles(workspace, query, signal),
      );
    },
  };
};

import { gatewayError } from '../../../canonical/failure/failure.ts';
import { CodexRun, type AgentRunsOptions } from './agent-run.ts';
import { isOffered } from './conversation.ts';
import { CODEX_TOOLS, type AgentRunRequest, type AgentRuns, type CodexTool } from './port.ts';
import { WorkspaceRooms } from './rooms.ts';

export const createAgentRuns = (options: AgentRunsOptions, rooms = new WorkspaceRooms()): AgentRuns => {
  return {
    async start(request, signal) {
      signal.throwIfAborted();
      checkNames(request);
      const leave = rooms.enter(request.workspace);
      try {
        const { workspace, access } = request;
        const place = await options.workers.open({ workspace, access }, signal);
        const run = new CodexRun(request, place, signal, { ...options, onEnd: leave });
        await run.begin();
        return run;
      } catch (error) {
        // Idempotent: a run that has begun has left.
        leave();
        throw error;
      }
    },
    free: (workspace) => rooms.free(workspace),
    whenFree: (listener) => rooms.whenFree(listener),
  };
};

/** codex runs calls of these names itself. */
const checkNames = (request: AgentRunRequest): void => {
  const taken = request.request.tools.find(
    (tool) =>
      (tool.kind === 'function' || tool.kind === 'custom') &&
      isCodexName(tool.name) &&
      isOffered(tool.name, request),
  );
  if (taken === undefined || !('name' in taken)) return;
  throw gatewayError('invalid_value', {
    param: 'tools',
    message: `Invalid 'tools': the workspace has a tool '${taken.name}' of its own.`,
  });
};

const isCodexName = (name: string): name is CodexTool => CODEX_TOOLS.some((one) => one === name);

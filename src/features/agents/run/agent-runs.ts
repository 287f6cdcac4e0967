import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { agentError } from '../failures.ts';
import { CodexRun, type AgentRunsOptions } from './agent-run.ts';
import { isOffered } from './conversation.ts';
import { CODEX_TOOLS, type AgentRunRequest, type AgentRuns, type CodexTool } from './port.ts';

export const createAgentRuns = (options: AgentRunsOptions): AgentRuns => {
  const rooms = new WorkspaceRooms();
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

/** How many runs work in each workspace. */
class WorkspaceRooms {
  readonly #inside = new Map<string, number>();
  readonly #listeners = new Set<() => void>();

  free({ label, runs }: Workspace): number {
    return Math.max(0, runs - (this.#inside.get(label) ?? 0));
  }

  /** Returns a function to call when the run has left. Throws if there is no room. */
  enter(workspace: Workspace | null): () => void {
    if (workspace === null) return () => {};
    if (this.free(workspace) === 0) throw busy(workspace);
    const { label } = workspace;
    this.#inside.set(label, (this.#inside.get(label) ?? 0) + 1);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#inside.set(label, (this.#inside.get(label) ?? 1) - 1);
      for (const listener of this.#listeners) listener();
    };
  }

  whenFree(listener: () => void): () => void {
    const own = (): void => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }
}

const BUSY_SECONDS = 5;

const busy = ({ label, runs }: Workspace): GatewayError =>
  agentError('workspace_busy', {
    message: `The workspace '${label}' is in use (at most ${runs === 1 ? 'one run' : `${runs} runs`} at the same time). Please try again later.`,
    retryAfterSeconds: BUSY_SECONDS,
  });

const isCodexName = (name: string): name is CodexTool => CODEX_TOOLS.some((one) => one === name);

import type { GatewayError } from '../../../canonical/failure/failure.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import { agentError } from '../failures.ts';

/** How many runs and commands work in each workspace. */
export class WorkspaceRooms {
  readonly #onChange: (label: string, inside: number) => void;
  readonly #inside = new Map<string, number>();
  readonly #listeners = new Set<() => void>();

  constructor(onChange: (label: string, inside: number) => void = () => {}) {
    this.#onChange = onChange;
  }

  free({ label, runs }: Workspace): number {
    return Math.max(0, runs - (this.#inside.get(label) ?? 0));
  }

  /** Returns a function to call when it is over. Throws if there is no room. */
  enter(workspace: Workspace | null): () => void {
    if (workspace === null) return () => {};
    if (this.free(workspace) === 0) throw busy(workspace);
    const { label } = workspace;
    this.#add(label, 1);
    let isInside = true;
    return () => {
      if (!isInside) return;
      isInside = false;
      this.#add(label, -1);
      for (const listener of this.#listeners) listener();
    };
  }

  #add(label: string, more: number): void {
    const inside = (this.#inside.get(label) ?? 0) + more;
    this.#inside.set(label, inside);
    this.#onChange(label, inside);
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

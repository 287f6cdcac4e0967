import type { Clock } from '../kit/ambient.ts';
import type { ListedMcp } from './mcp-tools.ts';

/** The MCP servers of the deployment and their tools, as they were a short while ago. */
export interface McpDirectory {
  list(): Promise<readonly ListedMcp[]>;
}

/** Every look starts each server once more. */
const KEEP_MS = 60_000;
/** A server that failed may be well again soon. */
const KEEP_TROUBLE_MS = 5_000;

export const createMcpDirectory = (look: () => Promise<readonly ListedMcp[]>, clock: Clock): McpDirectory => {
  let known: { readonly all: readonly ListedMcp[]; readonly until: number } | null = null;
  let looking: Promise<readonly ListedMcp[]> | null = null;
  const lookNow = async (): Promise<readonly ListedMcp[]> => {
    const all = await look();
    const isWell = all.every(({ list }) => list.status === 'connected');
    known = { all, until: clock.now() + (isWell ? KEEP_MS : KEEP_TROUBLE_MS) };
    return all;
  };
  return {
    async list() {
      if (known !== null && clock.now() < known.until) return known.all;
      // Whoever else asks meanwhile gets the same answer.
      looking ??= lookNow().finally(() => {
        looking = null;
      });
      return looking;
    },
  };
};

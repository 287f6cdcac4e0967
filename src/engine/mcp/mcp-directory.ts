import type { Clock } from '../../kit/ambient.ts';
import { keepAnswer } from '../../kit/collections/recent.ts';
import type { ListedMcp } from './mcp-tools.ts';

/** The MCP servers of the deployment and their tools, cached for a short time. */
export interface McpDirectory {
  list(): Promise<readonly ListedMcp[]>;
}

/** Each listing starts every server. */
const KEEP_MS = 60_000;
/** A server that failed may recover soon. */
const KEEP_FAILED_MS = 5_000;

export const createMcpDirectory = (
  look: () => Promise<readonly ListedMcp[]>,
  clock: Clock,
): McpDirectory => ({
  list: keepAnswer(look, {
    clock,
    keepMs: (all) => (all.every(({ list }) => list.status === 'connected') ? KEEP_MS : KEEP_FAILED_MS),
    keepFailureMs: 0,
  }),
});

import type { McpAccess } from '../../src/engine/mcp/mcp-access.ts';

/** There are no MCP servers. */
export const NO_MCP: McpAccess = { deployment: new Map(), reach: null };

import type { McpAccess } from '../../src/engine/mcp/mcp-tools.ts';

/** No MCP servers. */
export const NO_MCP: McpAccess = { deployment: new Map(), reach: null };

import type { McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { McpToolInfo, McpToolList } from '../../canonical/mcp/mcp-tools.ts';

/** A tool in the form of an `mcp_list_tools` item. */
const projectMcpTool = (tool: McpToolInfo) => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  input_schema: tool.inputSchema,
  output_schema: tool.outputSchema,
  annotations: tool.annotations,
});

interface Listed {
  readonly server: McpServer;
  readonly list: McpToolList;
}

/** The configured MCP servers, without commands, addresses or headers. */
export const projectMcpServers = (all: readonly Listed[]) => ({
  object: 'list' as const,
  data: all.map(({ server, list }) => ({
    server_label: server.label,
    transport: server.transport.kind,
    status: list.status,
    error: list.status === 'failed' ? `The MCP server '${server.label}' ${list.lastError}.` : null,
    tools: list.status === 'failed' ? [] : list.tools.map(projectMcpTool),
  })),
});

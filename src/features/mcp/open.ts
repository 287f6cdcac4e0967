import type { McpToolInfo } from '../../canonical/mcp/mcp-tools.ts';
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import type { ListedMcp } from '../../engine/mcp/mcp-tools.ts';
import type { Clock } from '../../kit/ambient.ts';
import { keepAnswer } from '../../kit/collections/recent.ts';
import { createAgentPinner } from '../../network/pinned-agent.ts';
import type { MCP_TABLES } from './feature.ts';
import { openMcpServers } from './servers.ts';

export const openMcp = async (
  core: Core,
  { settings: { clientServers, clientPrivate } }: Own<typeof MCP_TABLES>,
): Promise<OpenFeature<typeof MCP_TABLES>> => {
  const { ambient, environment, logger } = core;
  const servers = await openMcpServers({
    servers: core.mcpServers,
    environment,
    pinAgent: clientServers
      ? createAgentPinner({ allowPrivate: clientPrivate, keepsConnections: true })
      : null,
    onBug: (err) => logger.error({ err }, 'request to an MCP server failed'),
  });
  const list = keepTools(() => core.listMcpTools(), ambient.clock);
  return {
    routes: {
      'GET /v1/mcp/tools': async () => Response.json(projectMcpServers(await list())),
      'GET /v1/codex/mcp': async () => Response.json(projectMcpStatus(await list())),
    },
    offers: { mcp: servers },
    close: () => servers.close(),
  };
};

/** Each listing starts every server. */
const KEEP_MS = 60_000;
/** A server that failed may recover soon. */
const KEEP_FAILED_MS = 5_000;

type ListTools = () => Promise<readonly ListedMcp[]>;

/** The same list for a short time. */
export const keepTools = (list: ListTools, clock: Clock): ListTools =>
  keepAnswer(list, {
    clock,
    keepMs: (all) => (all.every((one) => one.list.status === 'connected') ? KEEP_MS : KEEP_FAILED_MS),
    keepFailureMs: 0,
  });

/** A tool in the form of an `mcp_list_tools` item. */
const projectMcpTool = (tool: McpToolInfo) => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  input_schema: tool.inputSchema,
  output_schema: tool.outputSchema,
  annotations: tool.annotations,
});

/** The configured MCP servers, without commands, addresses or headers. */
const projectMcpServers = (all: readonly ListedMcp[]) => ({
  object: 'list' as const,
  data: all.map(({ server, list }) => ({
    server_label: server.label,
    transport: server.transport.kind,
    status: list.status,
    error: list.status === 'failed' ? `The MCP server '${server.label}' ${list.lastError}.` : null,
    tools: list.status === 'failed' ? [] : list.tools.map(projectMcpTool),
  })),
});

/** A summary; `GET /v1/mcp/tools` describes the tools. */
const projectMcpStatus = (all: readonly ListedMcp[]) => ({
  object: 'list' as const,
  data: all.map(({ server, list }) => ({
    object: 'codex.mcp_server' as const,
    server_label: server.label,
    transport: server.transport.kind,
    status: list.status,
    error: list.status === 'failed' ? `The MCP server '${server.label}' ${list.lastError}.` : null,
    auth: server.transport.kind === 'http' ? authOf(server.transport.headers) : null,
    require_approval: server.requireApproval,
    tools: list.status === 'failed' ? [] : list.tools.map(({ name }) => name),
  })),
});

/** The app-server does not know: the relay in front of it adds the token. */
const authOf = (headers: Readonly<Record<string, string>>): 'token' | 'none' =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization') ? 'token' : 'none';

import type { McpToolInfo, McpToolList } from '../../canonical/mcp/mcp-tools.ts';
import type { Core, ListedWorkspace, OpenFeature, Own } from '../../compose/feature.ts';
import type { ListedMcp } from '../../engine/mcp/mcp-tools.ts';
import type { Clock } from '../../kit/ambient.ts';
import { keepAnswer } from '../../kit/collections/recent.ts';
import { createAgentPinner } from '../../network/pinned-agent.ts';
import type { MCP_TABLES } from './feature.ts';
import { openMcpServers } from './servers.ts';

export const openMcp = async (
  core: Core,
  { settings: { clientServers, clientPrivate }, offers: { listWorkspaces } }: Own<typeof MCP_TABLES>,
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
      'GET /v1/mcp/tools': async (_, exchange) =>
        Response.json(projectMcpServers(await list(), await listWorkspaces(exchange.caller()))),
      'GET /v1/codex/mcp': async (_, exchange) =>
        Response.json(projectMcpStatus(await list(), await listWorkspaces(exchange.caller()))),
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

/** What both lists say of a server, or of a workspace: it is a server to clients. */
const projectState = (label: string, transport: string, list: McpToolList) => ({
  server_label: label,
  transport,
  status: list.status,
  error:
    list.status === 'failed'
      ? `The ${transport === 'workspace' ? 'workspace' : 'MCP server'} '${label}' ${list.lastError}.`
      : null,
});

const toolsOf = (list: McpToolList): readonly McpToolInfo[] => (list.status === 'failed' ? [] : list.tools);

/** The configured MCP servers, without commands, addresses, headers or folders. */
const projectMcpServers = (all: readonly ListedMcp[], workspaces: readonly ListedWorkspace[]) => ({
  object: 'list' as const,
  data: [
    ...all.map(({ server, list }) => ({
      ...projectState(server.label, server.transport.kind, list),
      tools: toolsOf(list).map(projectMcpTool),
    })),
    ...workspaces.map(({ workspace, list }) => ({
      ...projectState(workspace.label, 'workspace', list),
      tools: toolsOf(list).map(projectMcpTool),
    })),
  ],
});

/** A summary; `GET /v1/mcp/tools` describes the tools. */
const projectMcpStatus = (all: readonly ListedMcp[], workspaces: readonly ListedWorkspace[]) => ({
  object: 'list' as const,
  data: [
    ...all.map(({ server, list }) => ({
      object: 'codex.mcp_server' as const,
      ...projectState(server.label, server.transport.kind, list),
      auth: server.transport.kind === 'http' ? authOf(server.transport.headers) : null,
      require_approval: server.requireApproval,
      tools: toolsOf(list).map(({ name }) => name),
    })),
    ...workspaces.map(({ workspace, list, active }) => ({
      object: 'codex.mcp_server' as const,
      ...projectState(workspace.label, 'workspace', list),
      auth: null,
      require_approval: workspace.requireApproval,
      tools: toolsOf(list).map(({ name }) => name),
      workspace: {
        path: workspace.configuredPath,
        access: workspace.access,
        network: workspace.network === 'none' ? false : workspace.network,
        runs: { active, max: workspace.runs },
      },
    })),
  ],
});

/** The app-server does not know: the relay in front of it adds the token. */
const authOf = (headers: Readonly<Record<string, string>>): 'token' | 'none' =>
  Object.keys(headers).some((name) => name.toLowerCase() === 'authorization') ? 'token' : 'none';

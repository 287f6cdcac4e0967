import type { McpServer, McpTransport } from '../../canonical/mcp/mcp-server.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import type { McpFilter, McpUse } from '../../canonical/mcp/mcp-use.ts';

/** The `config.mcp_servers` entry of `thread/start` for a process; `env` is added to its environment. */
export const stdioServerConfig = (
  server: McpServer,
  { command, args, env, cwd }: Extract<McpTransport, { kind: 'stdio' }>,
  more: Readonly<Record<string, string>>,
): JsonObject => ({
  command,
  args,
  env: { ...more, ...env },
  ...(cwd === null ? {} : { cwd }),
  ...limitsOf(server),
});

/** The same for a server that is reached through our local URL: never its own URL or headers. */
export const httpServerConfig = (server: McpServer, address: string): JsonObject => ({
  url: address,
  // A meaningless token. Without one codex probes seven URLs for sign-in each time that it lists the server.
  http_headers: { Authorization: 'Bearer none' },
  ...limitsOf(server),
});

const limitsOf = ({ startupSeconds, callSeconds }: McpServer): JsonObject => ({
  startup_timeout_sec: startupSeconds,
  tool_timeout_sec: callSeconds,
});

/** Whether the app-server runs a call without asking: always, only if the tool is read-only, or never. */
type Mode = 'approve' | 'auto' | 'prompt';

/**
 * The `config.mcp_servers` entry of a server for one request. `required`, because a thread would otherwise
 * silently continue without its tools.
 */
export const mcpUseConfig = (config: JsonObject, { allowed, approval }: McpUse): JsonObject => {
  const { always, never, otherwise } = approval;
  const modes = new Map<string, Mode>();
  const all: Mode = otherwise === 'never' ? 'approve' : 'prompt';
  const standard = [always, never].some((filter) => filter?.names === null && filter.readOnly !== null)
    ? 'auto'
    : all;
  for (const name of always?.names ?? []) modes.set(name, modeOf(always, 'prompt'));
  for (const name of never?.names ?? []) modes.set(name, modeOf(never, 'approve'));
  return {
    ...config,
    required: true,
    ...(allowed?.names ? { enabled_tools: [...allowed.names] } : {}),
    default_tools_approval_mode: allowed?.readOnly === true && standard === 'approve' ? 'auto' : standard,
    ...(modes.size === 0
      ? {}
      : { tools: Object.fromEntries([...modes].map(([name, mode]) => [name, { approval_mode: mode }])) }),
  };
};

/** If only read-only tools, or only others, are selected. */
const modeOf = (filter: McpFilter | null, mode: Mode): Mode => (filter?.readOnly === null ? mode : 'auto');

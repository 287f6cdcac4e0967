import type { McpServer, McpTransport } from '../../canonical/mcp/mcp-server.ts';
import type { JsonObject } from '../../kit/json/json.ts';

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

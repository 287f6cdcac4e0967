import type { McpServer, McpTransport } from '../../canonical/mcp/mcp-server.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** A process as the `config.mcp_servers` of `thread/start` names it; `env` is what its environment has besides. */
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

/** The same for a server that is reached at an address of ours: never at its own, and never with its headers. */
export const httpServerConfig = (server: McpServer, address: string): JsonObject => ({
  url: address,
  // Means nothing. Without it codex asks in seven places where to sign in, each time that it tells of the server.
  http_headers: { Authorization: 'Bearer none' },
  ...limitsOf(server),
});

const limitsOf = ({ startupSeconds, callSeconds }: McpServer): JsonObject => ({
  startup_timeout_sec: startupSeconds,
  tool_timeout_sec: callSeconds,
});

import type { McpServer } from '../../canonical/mcp-server.ts';
import type { JsonObject } from '../../kit/json.ts';

/**
 * A server as the `config.mcp_servers` of `thread/start` names it. `address` is where one that is reached
 * by HTTP is found: never its own address, and never with its headers.
 */
export const mcpServerConfig = (
  { transport, startupSeconds, callSeconds }: McpServer,
  address: string | null,
): JsonObject => ({
  ...(transport.kind === 'stdio'
    ? {
        command: transport.command,
        args: transport.args,
        env: transport.env,
        ...(transport.cwd === null ? {} : { cwd: transport.cwd }),
      }
    : { url: address, http_headers: SIGNED_IN }),
  startup_timeout_sec: startupSeconds,
  tool_timeout_sec: callSeconds,
});

/** Means nothing. Without it codex asks in seven places where to sign in, each time that it tells of the server. */
const SIGNED_IN = { Authorization: 'Bearer none' };

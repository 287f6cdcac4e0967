import type { McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** A server that threads can be started with. */
export interface ReachableMcp {
  readonly server: McpServer;
  /** Its entry in `config.mcp_servers` of `thread/start`, without secrets over HTTP. */
  readonly config: JsonObject;
  /** The error of the last message to it, as the end of a sentence about it; null: not known. */
  lastError(): string | null;
  /** For a server that a client named: the turn has ended. */
  close(): void;
}

/** The MCP servers, and how threads reach them. */
export interface McpAccess {
  /** The servers of the deployment, by label. */
  readonly deployment: ReadonlyMap<string, ReachableMcp>;
  /**
   * A server with HTTP transport that a client named, for one turn. Rejects with a GatewayError if its address may
   * not be reached. Null: clients may not name servers here.
   */
  readonly reach: ((server: McpServer, signal: AbortSignal) => Promise<ReachableMcp>) | null;
}

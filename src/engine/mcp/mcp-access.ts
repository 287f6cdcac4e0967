import type { McpServer } from '../../canonical/mcp/mcp-server.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** A server that threads can be started with. */
export interface ReachableMcp {
  readonly server: McpServer;
  /** Its entry in `config.mcp_servers` of `thread/start`, without anything that is secret over HTTP. */
  readonly config: JsonObject;
  /** Why the last message to it came to nothing, as the end of a sentence about it; null: not known. */
  lastError(): string | null;
  /** Of a server that a client named: its turn is over, and its thread is being closed. */
  close(): void;
}

/** Which MCP servers there are, and how threads reach them. */
export interface McpAccess {
  /** The servers of the deployment, by label. */
  readonly deployment: ReadonlyMap<string, ReachableMcp>;
  /**
   * A server with HTTP transport that a client named, for one turn. Rejects with a GatewayError if its address may
   * not be reached. Null: clients may not name servers here.
   */
  readonly reach: ((server: McpServer, signal: AbortSignal) => Promise<ReachableMcp>) | null;
}

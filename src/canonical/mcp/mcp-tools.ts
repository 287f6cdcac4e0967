import type { Json } from '../../kit/json/json.ts';

/** A tool as its MCP server describes it. */
export interface McpToolInfo {
  /** The server's own name for it; the name in model requests may differ. */
  readonly name: string;
  /** A display name. */
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: Json;
  readonly outputSchema: Json | null;
  readonly annotations: Json | null;
}

/** A server's tools, or why they are unknown; `trouble` completes a sentence about the server. */
export type McpToolList =
  | { readonly status: 'connected'; readonly tools: readonly McpToolInfo[] }
  | { readonly status: 'failed'; readonly lastError: string };

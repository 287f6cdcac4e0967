import type { Json } from '../../kit/json/json.ts';

/** A tool as its MCP server describes it. */
export interface McpToolInfo {
  /** As the server writes it; the model may see it written in another way. */
  readonly name: string;
  /** A name for people. */
  readonly title: string | null;
  readonly description: string | null;
  readonly inputSchema: Json;
  readonly outputSchema: Json | null;
  readonly annotations: Json | null;
}

/** What a server has to offer, or why that is not known, as the end of a sentence about the server. */
export type McpToolList =
  | { readonly status: 'connected'; readonly tools: readonly McpToolInfo[] }
  | { readonly status: 'failed'; readonly lastError: string };

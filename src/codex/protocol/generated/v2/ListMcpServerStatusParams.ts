// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { McpServerStatusDetail } from "./McpServerStatusDetail.ts";

export type ListMcpServerStatusParams = {
/**
 * Opaque pagination cursor returned by a previous call.
 */
cursor?: string | null,
/**
 * Optional page size; defaults to a server-defined value.
 */
limit?: number | null,
/**
 * Controls how much MCP inventory data to fetch for each server.
 * Defaults to `Full` when omitted.
 */
detail?: McpServerStatusDetail | null, threadId?: string | null,
/**
 * Limit discovery to one server. With a thread ID, reuse that thread's MCP connection.
 */
serverName?: string | null, };

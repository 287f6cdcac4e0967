// Generated from @openai/codex (codex app-server generate-ts --experimental).
// Do not edit: run `npm run protocol:update`.

import type { McpServerInfo } from "../McpServerInfo.ts";
import type { Resource } from "../Resource.ts";
import type { ResourceTemplate } from "../ResourceTemplate.ts";
import type { Tool } from "../Tool.ts";
import type { JsonValue } from "../serde_json/JsonValue.ts";
import type { McpAuthStatus } from "./McpAuthStatus.ts";
import type { McpServerConnectionStatus } from "./McpServerConnectionStatus.ts";

export type McpServerStatus = { name: string,
/**
 * Current thread-runtime connection state; null when unavailable or the configuration changed.
 */
runtimeStatus: McpServerConnectionStatus | null, pluginId: string | null,
/**
 * HTTP origin of the effective configured endpoint, including plugin servers.
 * Excludes credentials, path, query, and fragment; null for non-HTTP transports.
 */
httpOrigin: string | null, serverInfo: McpServerInfo | null,
/**
 * Capabilities advertised by the initialized MCP server; null when unavailable.
 */
serverCapabilities: JsonValue | null,
/**
 * Opaque `_meta` from the first page of the corresponding MCP tool catalog. Null when unavailable.
 */
toolListMeta: JsonValue | null, tools: { [key in string]?: Tool },
/**
 * Tool discovery failed and no catalog was returned.
 * Null when a catalog is returned, including cached or empty catalogs.
 */
toolsError: string | null, resources: Array<Resource>, resourceTemplates: Array<ResourceTemplate>, authStatus: McpAuthStatus, };

import type { McpToolInfo } from '../../../canonical/mcp/mcp-tools.ts';
import { isJsonObject, type Json } from '../../../kit/json/json.ts';

/** The MCP servers of a turn, as shown to the model. */
export interface McpShape {
  /** The offered tool; `many`: ambiguous; null: not offered; undefined: not a namespace of a server. */
  offered(namespace: string, wireName: string): McpToolInfo | 'many' | null | undefined;
  /** Whether a client asked for one of codex's own tools for MCP resources. */
  offersResource(name: string): boolean;
  /** Whether the turn has reached its limit of calls. */
  isLimitReached(): boolean;
}

/** With MCP servers codex adds these three tools unasked. */
export const RESOURCE_TOOLS: ReadonlySet<string> = new Set([
  'list_mcp_resources',
  'list_mcp_resource_templates',
  'read_mcp_resource',
]);

/** The tools that codex adds for MCP servers, as far as the client allows them, with the servers' own schemas. */
export const shapeMcpTools = (tools: readonly Json[], shape: McpShape): readonly Json[] =>
  tools.flatMap((tool): readonly Json[] => {
    if (!isJsonObject(tool)) return [tool];
    const { type, name } = tool;
    if (typeof name !== 'string') return [tool];
    if (type === 'function' && RESOURCE_TOOLS.has(name)) {
      return shape.offersResource(name) && !shape.isLimitReached() ? [tool] : [];
    }
    if (type !== 'namespace' || !Array.isArray(tool['tools'])) return [tool];
    const members = (tool['tools'] as readonly Json[]).flatMap((member) => restored(member, name, shape));
    // A foreign namespace stays unchanged.
    return members.length === 0 ? [] : [{ ...tool, tools: members }];
  });

const restored = (member: Json, namespace: string, shape: McpShape): readonly Json[] => {
  if (!isJsonObject(member) || typeof member['name'] !== 'string') return [member];
  const tool = shape.offered(namespace, member['name']);
  if (tool === undefined) return [member];
  if (tool === null || shape.isLimitReached()) return [];
  return [
    tool !== 'many' && isJsonObject(tool.inputSchema) ? { ...member, parameters: tool.inputSchema } : member,
  ];
};

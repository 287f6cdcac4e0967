import type { McpToolInfo } from '../../../canonical/mcp/mcp-tools.ts';
import { isJsonObject, type Json } from '../../../kit/json/json.ts';

/** The MCP servers of a turn, as the model is to see them. */
export interface McpShape {
  /**
   * The tools that are offered of a server, by the names that the model sees; `many`: it is not known which of them
   * it is; undefined: it is no server's namespace.
   */
  offered(namespace: string, wireName: string): McpToolInfo | 'many' | null | undefined;
  /** codex's own tools for the resources of servers, where a client asks for them. */
  offersResource(name: string): boolean;
  /** The turn has made as many calls as it may. */
  isLimitReached(): boolean;
}

/** With MCP servers come three tools that nobody asked for. */
export const RESOURCE_TOOLS: ReadonlySet<string> = new Set([
  'list_mcp_resources',
  'list_mcp_resource_templates',
  'read_mcp_resource',
]);

/** The tools that codex adds for MCP servers: what the client allows, with the servers' own schemas, which codex thins out. */
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
    // A namespace of somebody else is as it was.
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

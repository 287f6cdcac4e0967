import type { McpToolInfo } from '../../../canonical/mcp/mcp-tools.ts';
import { FLAT_NAMESPACE } from '../../../canonical/request/tool.ts';
import { isJsonObject, listIn, type Json, type JsonObject } from '../../../kit/json/json.ts';

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
    return members.length === 0 ? [] : [{ ...tool, tools: members }];
  });

const restored = (member: Json, namespace: string, shape: McpShape): readonly Json[] => {
  if (!isJsonObject(member) || typeof member['name'] !== 'string') return [member];
  if (namespace === FLAT_NAMESPACE && RESOURCE_TOOLS.has(member['name']))
    return shape.offersResource(member['name']) && !shape.isLimitReached() ? [member] : [];
  const tool = shape.offered(namespace, member['name']);
  if (tool === undefined) return [member];
  if (tool === null || shape.isLimitReached()) return [];
  return [
    tool !== 'many' && isJsonObject(tool.inputSchema) ? { ...member, parameters: tool.inputSchema } : member,
  ];
};

/**
 * Removes the tools that codex added for itself: the client's are not among them yet, and of the others only those of the
 * turn's MCP servers are wanted. A switch of `config.toml` that codex renames would otherwise show codex's own tools to
 * every model. Returns the same body if there are none.
 */
export const withoutForeignTools = (
  body: JsonObject,
  mcp: McpShape | null,
): { readonly body: JsonObject; readonly foreign: readonly string[] } => {
  const foreign: string[] = [];
  const kept = (tools: readonly Json[]): readonly Json[] =>
    tools.flatMap((tool): readonly Json[] => {
      // The codex format puts functions without a namespace into this one.
      if (isJsonObject(tool) && tool['type'] === 'namespace' && tool['name'] === FLAT_NAMESPACE) {
        const members = kept(listIn(tool, 'tools'));
        return members.length === 0 ? [] : [{ ...tool, tools: members }];
      }
      if (mcp !== null && isMcpTool(tool, mcp)) return [tool];
      foreign.push(toolName(tool));
      return [];
    });
  const [first, ...others] = listIn(body, 'input');
  const tools = kept(listIn(body, 'tools'));
  const held =
    isJsonObject(first) && first['type'] === 'additional_tools' ? kept(listIn(first, 'tools')) : null;
  if (foreign.length === 0) return { body, foreign };
  return {
    body: {
      ...body,
      ...('tools' in body ? { tools } : {}),
      ...(held === null ? {} : { input: [{ ...(first as JsonObject), tools: held }, ...others] }),
    },
    foreign,
  };
};

/** codex names a server's tools in its namespace, older releases in functions called `mcp__server__tool`. */
const isMcpTool = (tool: Json, mcp: McpShape): boolean => {
  if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return false;
  const { type, name } = tool;
  if (type === 'function') return RESOURCE_TOOLS.has(name) || name.startsWith('mcp__');
  return (
    type === 'namespace' &&
    listIn(tool, 'tools').some(
      (member) =>
        isJsonObject(member) &&
        typeof member['name'] === 'string' &&
        mcp.offered(name, member['name']) !== undefined,
    )
  );
};

const toolName = (tool: Json): string => {
  const { name, type } = isJsonObject(tool) ? tool : {};
  if (typeof name === 'string') return name;
  return typeof type === 'string' ? type : 'unnamed';
};

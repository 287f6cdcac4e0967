import { mcpLabelForm } from './mcp-server.ts';
import type { McpToolInfo } from './mcp-use.ts';

/** The namespace in which a model sees the tools of a server. */
export const mcpNamespace = (label: string): string => `mcp__${mcpLabelForm(label)}`;

/** The name by which a model sees a tool, where no other tool of its server has the same. */
export const mcpWireName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, '_');

/** A name that would stand for two tools, or is too long, has the beginning of a hash behind it. */
const HASHED = /^(.*)_[0-9a-f]{12}$/s;

/**
 * The tool that a model means. codex writes names with letters, digits and `_` only. `description` tells those
 * apart that have one name then; null: it is not known.
 */
export const toolBehind = (
  wireName: string,
  tools: readonly McpToolInfo[],
  description: string | null,
): McpToolInfo | null => {
  const same = tools.filter(({ name }) => mcpWireName(name) === wireName);
  if (same.length === 1) return same[0] ?? null;
  const beginning = HASHED.exec(wireName)?.[1];
  if (beginning === undefined) return null;
  const like = tools.filter(({ name }) => mcpWireName(name).startsWith(beginning));
  const described = like.filter((tool) => (tool.description ?? '') === description);
  return (like.length === 1 ? like[0] : described.length === 1 ? described[0] : null) ?? null;
};

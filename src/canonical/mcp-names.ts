import { mcpLabelForm } from './mcp-server.ts';
import type { McpToolInfo } from './mcp-tools.ts';

/** The namespace in which a model sees the tools of a server. */
export const mcpNamespace = (label: string): string => `mcp__${mcpLabelForm(label)}`;

/** The name by which a model sees a tool, where no other tool of its server has the same. */
export const mcpWireName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_]/g, '_');

/** A name that would stand for two tools, or is too long, has the beginning of a hash behind it. */
const HASHED = /^(.*)_[0-9a-f]{12}$/s;

/** The tools that a model may mean. codex writes names with letters, digits and `_` only; more than one: it cannot be told which. */
export const toolsBehind = (wireName: string, tools: readonly McpToolInfo[]): readonly McpToolInfo[] => {
  const same = tools.filter(({ name }) => mcpWireName(name) === wireName);
  if (same.length > 0) return same;
  const beginning = HASHED.exec(wireName)?.[1];
  return beginning === undefined ? [] : tools.filter(({ name }) => mcpWireName(name).startsWith(beginning));
};

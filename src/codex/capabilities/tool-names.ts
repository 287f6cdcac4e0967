import type { Refusal } from '../../canonical/refusal.ts';
import type { Tool } from '../../canonical/tool.ts';
import { quoted } from '../../kit/quote.ts';

/** codex's own tools of MCP servers have names like this. */
const RESERVED = 'mcp__';

/** Names that the app-server does not take: it would refuse the thread, in words about its own tools. */
export const refusedToolNames = (tools: readonly Tool[], hasRelay: boolean): readonly Refusal[] => {
  const seen = new Set<string>();
  return tools.flatMap((tool, index): readonly Refusal[] => {
    if (tool.kind === 'hosted') return [];
    const { name } = tool;
    const why =
      !hasRelay && name.startsWith(RESERVED)
        ? `names that start with '${RESERVED}' are reserved.`
        : seen.has(name)
          ? `duplicate tool name '${quoted(name)}'.`
          : null;
    seen.add(name);
    return why === null ? [] : [{ path: { toolName: index }, kind: 'invalid_value', why }];
  });
};

import type { Refusal } from '../../canonical/refusal.ts';
import type { Tool } from '../../canonical/tool.ts';
import { quoted } from '../../kit/quote.ts';
import type { BackendProfile } from './profile.ts';

/** The tools that the service behind a ChatGPT login runs itself. */
const CHATGPT_RUNS = /^(?:web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?|image_generation|tool_search)$/;

/** Tools that cannot be put before a backend at all. What it does not know it says itself. */
export const refusedTools = (
  tools: readonly Tool[],
  profile: Pick<BackendProfile, 'isChatgpt'> | null,
): readonly Refusal[] =>
  tools.flatMap((tool, index): readonly Refusal[] => {
    const why = whyRefused(tool, profile);
    return why === null ? [] : [{ path: { tool: index }, kind: 'unsupported_tool', why }];
  });

/** Whether anybody talks to its server is decided in `mcp-tools.ts`. */
const isMcp = (tool: Tool): boolean => tool.kind === 'hosted' && tool.raw.type === 'mcp';

const whyRefused = (tool: Tool, profile: Pick<BackendProfile, 'isChatgpt'> | null): string | null => {
  if (tool.kind === 'function' || isMcp(tool)) return null;
  const type = quoted(tool.kind === 'hosted' ? tool.raw.type : tool.kind);
  if (profile === null) return `is of type '${type}', and only the relay of this server could pass it on`;
  if (tool.kind !== 'hosted' || !profile.isChatgpt || CHATGPT_RUNS.test(tool.raw.type)) return null;
  return `is of type '${type}', which a ChatGPT login does not have`;
};

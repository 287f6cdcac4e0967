import type { Refusal } from '../../canonical/refusal.ts';
import type { RawTool, Tool } from '../../canonical/tool.ts';
import { quoted } from '../../kit/quote.ts';
import type { Lane } from '../translate/approach.ts';
import { isOnlyOnFull } from './lanes.ts';
import type { BackendProfile } from './profile.ts';

const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/** What else the service behind a ChatGPT login runs itself. */
const CHATGPT_RUNS: ReadonlySet<string> = new Set(['image_generation', 'tool_search']);

/** A tool as that service knows it: the web search has one name there, whatever its version. Null: it has no such tool. */
export const chatgptTool = (raw: RawTool): RawTool | null => {
  if (WEB_SEARCH.test(raw.type)) return { ...raw, type: 'web_search' };
  return CHATGPT_RUNS.has(raw.type) ? raw : null;
};

/** How a backend is reached. */
export interface ToolWay {
  /** Null: there is no relay. */
  readonly profile: Pick<BackendProfile, 'isChatgpt'> | null;
  readonly lane: Lane;
}

/** Tools that cannot be put before a backend at all. What it does not know it says itself. */
export const refusedTools = (tools: readonly Tool[], way: ToolWay): readonly Refusal[] =>
  tools.flatMap((tool, index): readonly Refusal[] => {
    const why = whyRefused(tool, way);
    return why === null ? [] : [{ path: { tool: index }, kind: 'unsupported_tool', why }];
  });

/** Whether anybody talks to its server is decided in `mcp-tools.ts`. */
const isMcp = (tool: Tool): boolean => tool.kind === 'hosted' && tool.raw.type === 'mcp';

const whyRefused = (tool: Tool, { profile, lane }: ToolWay): string | null => {
  if (tool.kind === 'function' || isMcp(tool)) return null;
  const type = `is of type '${quoted(tool.kind === 'hosted' ? tool.raw.type : tool.kind)}'`;
  if (profile === null) return `${type}, and only the relay of this server could pass it on`;
  if (tool.kind !== 'hosted' || !profile.isChatgpt) return null;
  if (chatgptTool(tool.raw) === null) return `${type}, which a ChatGPT login does not have`;
  return lane === 'lite' && isOnlyOnFull(tool)
    ? `${type}, for which the lite lane of a ChatGPT login has no place`
    : null;
};

import type { LoadedTools } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { Rejection } from '../../canonical/failure/rejection.ts';
import type { RawTool, Tool } from '../../canonical/request/tool.ts';
import type { TurnRequest } from '../../canonical/request/turn-request.ts';
import { quoted } from '../../kit/text/quote.ts';
import type { RequestFormat } from '../translate/request-strategy.ts';
import { isResponsesOnly } from './request-formats.ts';
import type { BackendProfile } from './profile.ts';

const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/** Other tools that the backend of a ChatGPT login runs itself. */
const CHATGPT_HOSTED: ReadonlySet<string> = new Set(['image_generation', 'tool_search']);

/**
 * The tool in the form that this backend accepts, where web search has a single name for all versions. Null:
 * it has no such tool.
 */
export const chatgptTool = (raw: RawTool): RawTool | null => {
  if (WEB_SEARCH.test(raw.type)) return { ...raw, type: 'web_search' };
  return CHATGPT_HOSTED.has(raw.type) ? raw : null;
};

/** What is known of the backend; null: no relay, so the app-server declares the tools. */
type KnownBackend = Pick<BackendProfile, 'isChatgpt'> | null;

/** How a backend is reached. */
interface ToolContext {
  readonly profile: KnownBackend;
  readonly requestFormat: RequestFormat;
}

/**
 * Tools that cannot be sent to the backend. Tools that the backend does not know are left to its own error.
 */
export const refusedTools = (
  { tools, items }: Pick<TurnRequest, 'tools' | 'items'>,
  support: ToolContext,
): readonly Rejection[] => {
  const refusal = (path: Path, why: string | null): readonly Rejection[] =>
    why === null ? [] : [{ path, kind: 'unsupported_tool', why }];
  return [
    ...tools.flatMap((tool, index) => refusal({ tool: index }, whyRefused(tool, support))),
    ...items.flatMap((item, index) =>
      item.kind === 'loaded-tools'
        ? item.tools.flatMap((tool) => refusal({ item: index }, whyRefused(tool, support)))
        : [],
    ),
  ];
};

/** MCP tools are decided in `mcp-tools.ts`. */
const isMcp = (tool: Tool): boolean => tool.kind === 'hosted' && tool.raw.type === 'mcp';

const whyRefused = (tool: Tool, { profile, requestFormat }: ToolContext): string | null => {
  if (tool.kind !== 'hosted' || isSearch(tool) || isMcp(tool)) return null;
  const type = `is of type '${quoted(tool.raw.type)}'`;
  if (profile === null) return `${type}, which needs the relay of this server (PROXY_WIRE)`;
  if (!profile.isChatgpt) return null;
  if (chatgptTool(tool.raw) === null) return `${type}, which a ChatGPT login does not support`;
  return requestFormat === 'codex' && isResponsesOnly(tool)
    ? `${type}, for which the lite lane of a ChatGPT login has no place`
    : null;
};

/** Additional tool fields that codex sends to its backend. */
const CODEX_SENDS: ReadonlySet<string> = new Set(['defer_loading']);

/** Whether an additional field of a function or custom tool reaches the backend. */
export const keepsToolField = (field: string, profile: KnownBackend): boolean =>
  profile !== null && (!profile.isChatgpt || CODEX_SENDS.has(field));

/** The parts of the tools that do not reach the backend although the tool does. */
export const lostToolFields = (
  { tools, items }: Pick<TurnRequest, 'tools' | 'items'>,
  profile: KnownBackend,
): readonly Path[] => {
  const fieldsOf = (tool: Tool): readonly string[] => {
    if (tool.kind === 'namespace') return [];
    // The backend of a ChatGPT login chooses the models of its tools.
    if (tool.kind === 'hosted')
      return tool.model !== undefined && profile?.isChatgpt === true ? ['model'] : [];
    return Object.keys(tool.more ?? {}).filter((field) => !keepsToolField(field, profile));
  };
  return [
    // Without the relay there is no tool search: all tools are declared from the start.
    ...tools.flatMap((tool, index) => (profile === null && isSearch(tool) ? [{ tool: index }] : [])),
    ...tools.flatMap((tool, index) => fieldsOf(tool).map((field) => ({ toolField: { tool: index, field } }))),
    ...items.flatMap((item, index) =>
      item.kind === 'loaded-tools' && isMergedIntoTools(item, profile)
        ? item.tools.flatMap((tool, at) =>
            fieldsOf(tool).map((field) => ({ toolField: { item: index, tool: at, field } })),
          )
        : [],
    ),
  ];
};

/**
 * Whether the tools of an item are moved into the tool list because the item itself would not be understood:
 * codex's own backend accepts tools in one place only, and the app-server calls only tools declared to it.
 */
export const isMergedIntoTools = ({ raw }: LoadedTools, profile: KnownBackend): boolean =>
  profile === null || (profile.isChatgpt && raw.type === 'additional_tools');

const isSearch = (tool: Tool): boolean => tool.kind === 'hosted' && tool.raw.type === 'tool_search';

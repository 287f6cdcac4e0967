import { itemFacts } from '../../canonical/request/item-facts.ts';
import type { Item, LoadedTools } from '../../canonical/request/item.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { Rejection } from '../../canonical/failure/rejection.ts';
import type { HostedTool, RawTool, Tool } from '../../canonical/request/tool.ts';
import type { ToolsInUse } from '../../canonical/request/turn-request.ts';
import { quoted } from '../../kit/text/display.ts';
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

/** What becomes of a client's tools on their way to the backend. */
export interface ToolRules {
  /** Why a hosted tool cannot be sent; null: it can. Tool search and MCP servers are not asked about. */
  whyRefused(tool: HostedTool, requestFormat: RequestFormat): string | null;
  /** Whether a tool is left out without being refused. */
  isLost(tool: Tool): boolean;
  /** Whether an additional field of a function or custom tool is sent. */
  keepsField(field: string): boolean;
  /** Whether a hosted tool can name the model that it uses. */
  readonly keepsModel: boolean;
  /** Whether the tools of an item are moved into the tool list because the item itself would not be understood. */
  isMergedIntoTools(item: LoadedTools): boolean;
  /** Whether the backend itself connects to MCP servers, as far as known before the request. */
  readonly hasHostedMcp: boolean;
}

/** The rules of a backend whose requests are written here. */
export const toolRulesOf = ({ isChatgpt, takes }: BackendProfile): ToolRules => {
  if (isChatgpt) return CHATGPT_TOOLS;
  return takes.has('additional_tools') ? OPENAI_TOOLS : PROVIDER_TOOLS;
};

/** Additional tool fields that codex sends to its backend. */
const CODEX_SENDS: ReadonlySet<string> = new Set(['defer_loading']);

const CHATGPT_TOOLS: ToolRules = {
  whyRefused(tool, requestFormat) {
    if (chatgptTool(tool.raw) === null) return `${typeIs(tool.raw)}, which a ChatGPT login does not support`;
    return requestFormat === 'codex' && isResponsesOnly(tool)
      ? `${typeIs(tool.raw)}, for which the lite lane of a ChatGPT login has no place`
      : null;
  },
  isLost: () => false,
  keepsField: (field) => CODEX_SENDS.has(field),
  // This backend chooses the models of its tools.
  keepsModel: false,
  // It accepts tools in one place only.
  isMergedIntoTools: ({ raw }) => raw.type === 'additional_tools',
  hasHostedMcp: false,
};

/** Tools that a provider does not know are left to its own error. */
const OPENAI_TOOLS: ToolRules = {
  whyRefused: () => null,
  isLost: () => false,
  keepsField: () => true,
  keepsModel: true,
  isMergedIntoTools: () => false,
  hasHostedMcp: true,
};

const PROVIDER_TOOLS: ToolRules = { ...OPENAI_TOOLS, isMergedIntoTools: ({ isOurs }) => isOurs === true };

/** The beginning of a refusal. */
export const typeIs = ({ type }: RawTool): string => `is of type '${quoted(type)}'`;

/** Tools that cannot be sent to the backend. */
export const refusedTools = (
  { tools, items }: ToolsInUse,
  rules: ToolRules,
  requestFormat: RequestFormat,
): readonly Rejection[] => {
  const refusal = (path: Path, tool: Tool): readonly Rejection[] => {
    if (tool.kind !== 'hosted' || isToolSearch(tool) || isMcp(tool)) return [];
    const why = rules.whyRefused(tool, requestFormat);
    return why === null ? [] : [{ path, kind: 'unsupported_tool', why }];
  };
  return [
    ...tools.flatMap((tool, index) => refusal({ tool: index }, tool)),
    ...loadedIn(items).flatMap(([index, item]) =>
      item.tools.flatMap((tool) => refusal({ item: index }, tool)),
    ),
  ];
};

/** Items that declare tools, with their indices. */
const loadedIn = (items: readonly Item[]): readonly (readonly [number, LoadedTools])[] =>
  itemFacts(items).hasLoadedTools
    ? items.flatMap((item, index) => (item.kind === 'loaded-tools' ? [[index, item] as const] : []))
    : [];

/** MCP tools are decided in `mcp-tools.ts`. */
const isMcp = (tool: Tool): boolean => tool.kind === 'hosted' && tool.raw.type === 'mcp';

export const isToolSearch = (tool: Tool): boolean =>
  tool.kind === 'hosted' && tool.raw.type === 'tool_search';

/** Whether an additional field of a function or custom tool reaches the backend. */
export const keepsToolField = (field: string, { isChatgpt }: BackendProfile): boolean =>
  (isChatgpt ? CHATGPT_TOOLS : OPENAI_TOOLS).keepsField(field);

/** The parts of the tools that do not reach the backend although the tool does. */
export const lostToolFields = ({ tools, items }: ToolsInUse, rules: ToolRules): readonly Path[] => {
  const fieldsOf = (tool: Tool): readonly string[] => {
    if (tool.kind === 'namespace') return [];
    if (tool.kind === 'hosted') return tool.model === undefined || rules.keepsModel ? [] : ['model'];
    return Object.keys(tool.more ?? {}).filter((field) => !rules.keepsField(field));
  };
  return [
    ...tools.flatMap((tool, index) => (rules.isLost(tool) ? [{ tool: index }] : [])),
    ...tools.flatMap((tool, index) => fieldsOf(tool).map((field) => ({ toolField: { tool: index, field } }))),
    ...loadedIn(items).flatMap(([index, item]) =>
      rules.isMergedIntoTools(item)
        ? item.tools.flatMap((tool, at) =>
            fieldsOf(tool).map((field) => ({ toolField: { item: index, tool: at, field } })),
          )
        : [],
    ),
  ];
};

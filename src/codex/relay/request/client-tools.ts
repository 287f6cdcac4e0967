import {
  FLAT_NAMESPACE,
  NO_PARAMETERS,
  type CustomTool,
  type FunctionTool,
  type HostedTool,
  type RawTool,
  type Tool,
  type ToolChoice,
  type ToolRef,
} from '../../../canonical/request/tool.ts';
import { assertNever } from '../../../kit/assert-never.ts';
import { isJsonObject, listIn, present, type Json, type JsonObject } from '../../../kit/json/json.ts';
import type { BackendProfile } from '../../capabilities/profile.ts';
import { chatgptTool, keepsToolField } from '../../capabilities/tool-kinds.ts';
import type { RequestFormat } from '../../translate/request-strategy.ts';
import { shapeMcpTools, type McpShape } from './mcp-namespaces.ts';

export interface ToolsContext {
  readonly requestFormat: RequestFormat;
  readonly profile: BackendProfile;
  /** Names the item that holds the tools in the codex format; constant within a conversation. */
  readonly session: string;
  readonly mcp: McpShape | null;
}

/** Writes the client's tools before those of the app-server: into `tools`, or (codex format) the first input item. */
export const writeTools = (
  body: JsonObject,
  tools: readonly Tool[],
  { requestFormat, profile, session, mcp }: ToolsContext,
): JsonObject => {
  const added = (list: readonly Json[]): readonly Json[] => (mcp === null ? list : shapeMcpTools(list, mcp));
  const write = (tool: Tool): JsonObject => writeTool(tool, profile);
  if (requestFormat === 'responses') return { tools: [...tools.map(write), ...added(listIn(body, 'tools'))] };
  const input = listIn(body, 'input');
  const [first] = input;
  const has = isJsonObject(first) && first['type'] === 'additional_tools';
  const item: JsonObject = {
    ...(has ? first : { type: 'additional_tools', id: `at_${session}`, role: 'developer' }),
    tools: [...inNamespaces(tools, write), ...(has ? added(listIn(first, 'tools')) : [])],
  };
  return { input: [item, ...input.slice(has ? 1 : 0)] };
};

/** In the codex format codex has a namespace for tools without one. */
const inNamespaces = (tools: readonly Tool[], write: (tool: Tool) => JsonObject): readonly JsonObject[] => {
  const isFlat = ({ kind }: Tool): boolean => kind === 'function' || kind === 'custom';
  const flat = tools.filter(isFlat).map(write);
  const others = tools.filter((tool) => !isFlat(tool));
  if (flat.length === 0) return others.map(write);
  // If the client has a namespace with this name too, it holds both.
  const isSame = (tool: Tool): boolean => tool.kind === 'namespace' && tool.name === FLAT_NAMESPACE;
  const same = others.filter(isSame).map(write);
  return [
    {
      type: 'namespace',
      name: FLAT_NAMESPACE,
      description: '',
      ...Object.assign({}, ...same),
      tools: [...flat, ...same.flatMap((one) => listIn(one, 'tools'))],
    },
    ...others.filter((tool) => !isSame(tool)).map(write),
  ];
};

/** codex's own backend expects the defaults that codex fills in. */
const writeTool = (tool: Tool, profile: ToolsContext['profile']): JsonObject => {
  switch (tool.kind) {
    case 'function':
      return {
        ...(profile.isChatgpt ? filledIn(tool) : declaredTool(tool)),
        ...furtherFields(tool, profile),
      };
    case 'custom': {
      const { name, description, format } = tool;
      return { type: 'custom', ...present({ name, description, format }), ...furtherFields(tool, profile) };
    }
    case 'namespace':
      return tool.raw;
    case 'hosted':
      return hosted(tool, profile);
    default:
      return assertNever(tool);
  }
};

const hosted = ({ raw, model, mask }: HostedTool, profile: ToolsContext['profile']): JsonObject => ({
  ...named(raw, profile),
  ...(model === undefined || profile.isChatgpt ? {} : { model }),
  ...(mask === undefined ? {} : { input_image_mask: { image_url: mask.url } }),
});

/** A hosted tool by the backend's name for it. */
const named = (raw: RawTool, { isChatgpt }: ToolsContext['profile']): RawTool =>
  (isChatgpt ? chatgptTool(raw) : null) ?? raw;

const furtherFields = ({ more }: FunctionTool | CustomTool, profile: ToolsContext['profile']): JsonObject =>
  Object.fromEntries(Object.entries(more ?? {}).filter(([field]) => keepsToolField(field, profile)));

/** The tool as the client declared it: an omitted field, such as `strict`, has a meaning too. */
const declaredTool = ({ name, description, parameters, strict }: FunctionTool): JsonObject => ({
  type: 'function',
  ...present({ name, description, parameters, strict }),
});

const filledIn = ({ name, description, parameters, strict }: FunctionTool): JsonObject => ({
  type: 'function',
  name,
  strict: strict ?? false,
  parameters: parameters ?? NO_PARAMETERS,
  ...present({ description }),
});

export const toolChoiceField = (choice: ToolChoice, profile: ToolsContext['profile']): Json => {
  const write = (ref: ToolRef): JsonObject => writeRef(ref, profile);
  switch (choice.mode) {
    case 'auto':
    case 'none':
    case 'required':
      return choice.mode;
    case 'named':
      return write(choice.tool);
    case 'allowed':
      return {
        type: 'allowed_tools',
        mode: choice.required ? 'required' : 'auto',
        tools: choice.tools.map(write),
      };
    default:
      return assertNever(choice);
  }
};

const writeRef = (ref: ToolRef, profile: ToolsContext['profile']): JsonObject =>
  ref.kind === 'hosted'
    ? named(ref.raw, profile)
    : present({ type: ref.kind, name: ref.name, namespace: ref.namespace });

import type { FunctionTool, RawTool, Tool, ToolChoice, ToolRef } from '../../canonical/tool.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { isJsonObject, type Json, type JsonObject } from '../../kit/json.ts';
import type { BackendProfile } from '../capabilities/profile.ts';
import { chatgptTool } from '../capabilities/tool-kinds.ts';
import type { Lane } from '../translate/approach.ts';
import { shapeMcpTools, type McpShape } from './mcp-namespaces.ts';
import { NO_PARAMETERS } from '../translate/thread-start.ts';

export interface ToolsPlace {
  readonly lane: Lane;
  readonly profile: Pick<BackendProfile, 'isChatgpt'>;
  /** Names the item that holds the tools on the lite lane: the same for all requests of a conversation. */
  readonly session: string;
  readonly mcp: McpShape | null;
}

/**
 * The client's tools, in front of those that the app-server adds itself. On the full lane they stand in `tools`,
 * on the lite lane in the first item of the input.
 */
export const writeTools = (
  body: JsonObject,
  tools: readonly Tool[],
  { lane, profile, session, mcp }: ToolsPlace,
): JsonObject => {
  const added = (list: readonly Json[]): readonly Json[] => (mcp === null ? list : shapeMcpTools(list, mcp));
  const write = (tool: Tool): JsonObject => writeTool(tool, profile);
  if (lane === 'full') return { tools: [...tools.map(write), ...added(listIn(body['tools']))] };
  const input = listIn(body['input']);
  const [first] = input;
  const has = isJsonObject(first) && first['type'] === 'additional_tools';
  const item: JsonObject = {
    ...(has ? first : { type: 'additional_tools', id: `at_${session}`, role: 'developer' }),
    tools: [...inNamespaces(tools, write), ...(has ? added(listIn(first['tools'])) : [])],
  };
  return { input: [item, ...input.slice(has ? 1 : 0)] };
};

/** codex has a namespace for tools that are in none, on the lite lane. */
const inNamespaces = (tools: readonly Tool[], write: (tool: Tool) => JsonObject): readonly JsonObject[] => {
  const isFlat = ({ kind }: Tool): boolean => kind === 'function' || kind === 'custom';
  const flat = tools.filter(isFlat);
  const others = tools.filter((tool) => !isFlat(tool)).map(write);
  if (flat.length === 0) return others;
  return [{ type: 'namespace', name: 'functions', description: '', tools: flat.map(write) }, ...others];
};

/** codex's own backend is used to functions in which codex has filled in what the client left out. */
const writeTool = (tool: Tool, profile: ToolsPlace['profile']): JsonObject => {
  switch (tool.kind) {
    case 'function':
      return profile.isChatgpt ? filledIn(tool) : ownTool(tool);
    case 'custom': {
      const { name, description, format } = tool;
      return {
        type: 'custom',
        name,
        ...(description === null ? {} : { description }),
        ...(format === null ? {} : { format }),
      };
    }
    case 'namespace':
      return tool.raw;
    case 'hosted':
      return hosted(tool.raw, profile);
    default:
      return assertNever(tool);
  }
};

const hosted = (raw: RawTool, { isChatgpt }: ToolsPlace['profile']): RawTool =>
  (isChatgpt ? chatgptTool(raw) : null) ?? raw;

/** The tool as the client declared it: a field that it left out has a meaning too, such as no `strict`. */
const ownTool = ({ name, description, parameters, strict }: FunctionTool): JsonObject => ({
  type: 'function',
  name,
  ...(description === null ? {} : { description }),
  ...(parameters === null ? {} : { parameters }),
  ...(strict === null ? {} : { strict }),
});

const filledIn = ({ name, description, parameters, strict }: FunctionTool): JsonObject => ({
  type: 'function',
  name,
  strict: strict ?? false,
  parameters: parameters ?? NO_PARAMETERS,
  ...(description === null ? {} : { description }),
});

export const toolChoiceField = (choice: ToolChoice, profile: ToolsPlace['profile']): Json => {
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

const writeRef = (ref: ToolRef, profile: ToolsPlace['profile']): JsonObject =>
  ref.kind === 'hosted'
    ? hosted(ref.raw, profile)
    : {
        type: ref.kind,
        name: ref.name,
        ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
      };

const listIn = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? (value as readonly Json[]) : [];

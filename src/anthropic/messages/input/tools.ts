import { z } from 'zod';

import { gatewayError, type GatewayError } from '../../../canonical/failure/failure.ts';
import type { FunctionTool, HostedTool, Tool } from '../../../canonical/request/tool.ts';
import { idText, jsonObject, listOf, longText, MAX_WORDS } from '../../../apis/bounds.ts';
import { checkTools } from '../../../apis/check-tools.ts';
import type { SchemaBudget } from '../../../apis/schema-problem.ts';
import { noteUnread } from '../../../apis/unread-fields.ts';
import { notAnObject, parseBody } from '../../../apis/validation.ts';
import { backendName, type ClientNames } from '../tool-names.ts';
import { CLIENT_TOOLS } from './client-tools.ts';
import { readMcpServers, type Toolset } from './mcp-servers.ts';
import { isJsonObject, present, textIn, type JsonObject } from '../../../kit/json/json.ts';
import { quoted } from '../../../kit/text/display.ts';

export interface ReadTools {
  /** Tools that the model has from the beginning. */
  readonly tools: readonly Tool[];
  /** Tools that the model gets when the conversation refers to them, by name. */
  readonly deferred: ReadonlyMap<string, Tool>;
  /** Limit on web searches; null: none. */
  readonly maxToolCalls: number | null;
  readonly clientNames: ClientNames;
  /** The location of a tool in the body. */
  readonly placeOf: (index: number) => string;
}

interface ReadTool {
  readonly tool: Tool;
  /** As the client named it. */
  readonly name: string;
  readonly isDeferred: boolean;
  readonly maxUses: number | null;
}

/** Anthropic's limits. */
const toolName = z
  .string()
  .regex(
    /^[a-zA-Z0-9_-]{1,128}$/,
    'expected letters, digits, underscores and dashes, at most 128 characters.',
  );

const common = {
  defer_loading: z.boolean().nullish(),
  // Without effect, because prompts are cached and arguments are streamed anyway.
  cache_control: z.unknown().optional(),
  eager_input_streaming: z.unknown().optional(),
};

const functionSchema = z.object({
  type: z.literal('custom').nullish(),
  name: toolName,
  description: longText.nullish(),
  input_schema: jsonObject,
  strict: z.boolean().nullish(),
  ...common,
});

const domains = listOf(z.string().max(1_000), MAX_WORDS).nullish();
const webSearchSchema = z.object({
  type: z.string(),
  name: z.literal('web_search'),
  allowed_domains: domains,
  max_uses: z.int().min(1).nullish(),
  user_location: jsonObject.nullish(),
  ...common,
});

/** Made once: making one takes ten times as long as using it, and a request may declare a thousand tools. */
const CLIENT_SCHEMAS = new Map(
  CLIENT_TOOLS.entries().map(([type, { name, settings }]) => {
    const fields = Object.fromEntries(settings.map((setting) => [setting, z.unknown().optional()]));
    return [type, z.object({ type: z.string(), name: z.literal(name), ...fields, ...common })] as const;
  }),
);

/** Claude Code declares it while it has no other deferred tool. No model may call it. */
const PLACEHOLDER = 'DeferredToolPlaceholder';

const WEB_SEARCH = /^web_search_\d{8}$/;

const isToolset = (value: unknown): value is JsonObject =>
  isJsonObject(value) && value['type'] === 'mcp_toolset';

/** Reads the tools and MCP servers of a request. Fields without effect are added to `ignored`. */
export const readTools = (
  parsed: readonly unknown[],
  ignored: string[],
  servers: readonly unknown[] = [],
): ReadTools => {
  const places = parsed.map((_, index) => `tools[${index}]`);
  const toolsets = parsed.flatMap((value, index): readonly Toolset[] =>
    isToolset(value) ? [[value, places[index] ?? 'tools']] : [],
  );
  const placed = parsed.flatMap((value, index) =>
    isToolset(value) ? [] : [[value, places[index] ?? 'tools'] as const],
  );
  const read = placed.map(([value, at]) => readTool(value, at, ignored));
  const placeOf = (index: number): string => placed[index]?.[1] ?? 'tools';
  checkTools(
    read.map(({ tool }) => tool),
    placeOf,
    'input_schema',
  );
  rejectRepeated(read, placeOf);
  const mcp = readMcpServers(servers, toolsets, ignored);
  const shown = read.flatMap(({ isDeferred }, index) => (isDeferred ? [] : [placeOf(index)]));
  const allPlaces = [...shown, ...mcp.places];
  return {
    tools: [...read.flatMap(({ tool, isDeferred }) => (isDeferred ? [] : [tool])), ...mcp.tools],
    deferred: new Map(
      read.flatMap(({ tool, isDeferred }) => (isDeferred ? [[nameOfTool(tool), tool] as const] : [])),
    ),
    clientNames: new Map(read.flatMap(renamedOf)),
    maxToolCalls: read.find(({ maxUses }) => maxUses !== null)?.maxUses ?? null,
    placeOf: (index) => allPlaces[index] ?? `tools[${index}]`,
  };
};

/** A function may not have the name of the web search: a conversation refers to both by their names. */
const rejectRepeated = (read: readonly ReadTool[], placeOf: (index: number) => string): void => {
  const names = read.map(({ name }) => name);
  const index = names.findIndex((name, at) => names.indexOf(name) < at);
  if (index < 0) return;
  const param = `${placeOf(index)}.name`;
  throw gatewayError('invalid_value', {
    param,
    message: `Invalid '${param}': duplicate tool name '${quoted(names[index] ?? '')}'.`,
  });
};

/** Reads a tool that a message defines. `budget` is for all of them. */
export const readInlineTool = (
  value: unknown,
  at: string,
  { ignored, budget }: { readonly ignored: string[]; readonly budget: SchemaBudget },
): ReadTool => {
  const read = readTool(value, at, ignored);
  checkTools([read.tool], () => at, 'input_schema', budget);
  return read;
};

/** The client's name of a tool by the backend's name, if they differ. */
export const renamedOf = ({ tool, name }: ReadTool): readonly (readonly [string, string])[] =>
  tool.kind === 'function' && tool.name !== name ? [[tool.name, name]] : [];

/** Reads one tool: a function of the client, a tool that Anthropic defines for it, or the web search of the backend. */
const readTool = (value: unknown, at: string, ignored: string[]): ReadTool => {
  if (!isJsonObject(value)) throw notAnObject(at, value);
  const type = parseBody(idText, value['type'] ?? 'custom', `${at}.type`);
  if (type === 'custom') return readFunction(value, at, ignored);
  if (WEB_SEARCH.test(type)) return readWebSearch(value, at, ignored);
  const known = CLIENT_TOOLS.get(type);
  const schema = CLIENT_SCHEMAS.get(type);
  if (known === undefined || schema === undefined) throw unsupported(type, at);
  const { name, defer_loading: isDeferred } = parseBody(schema, value, at);
  noteUnread(ignored, schema, value, at);
  const tool: FunctionTool = { kind: 'function', name, ...known.define(value), strict: false };
  return { tool, name, isDeferred: isDeferred === true, maxUses: null };
};

/** The name by which a conversation refers to a tool. */
export const nameOfTool = (tool: Tool): string => {
  if (tool.kind !== 'hosted') return tool.name;
  const { type } = tool.raw;
  return type === 'mcp' ? `mcp:${textIn(tool.raw, 'server_label')}` : type;
};

const readFunction = (value: object, at: string, ignored: string[]): ReadTool => {
  const parsed = parseBody(functionSchema, value, at);
  noteUnread(ignored, functionSchema, value, at);
  const tool: FunctionTool = {
    kind: 'function',
    name: backendName(parsed.name),
    description: parsed.description ?? null,
    parameters: parsed.input_schema,
    // A Responses backend takes an absent value as true.
    strict: parsed.strict ?? false,
  };
  const isDeferred = parsed.defer_loading === true || parsed.name === PLACEHOLDER;
  return { tool, name: parsed.name, isDeferred, maxUses: null };
};

const readWebSearch = (value: object, at: string, ignored: string[]): ReadTool => {
  const parsed = parseBody(webSearchSchema, value, at);
  noteUnread(ignored, webSearchSchema, value, at);
  const { allowed_domains: allowed, user_location: location } = parsed;
  const tool: HostedTool = {
    kind: 'hosted',
    raw: {
      type: 'web_search',
      ...(allowed && allowed.length > 0 ? { filters: { allowed_domains: allowed } } : {}),
      ...(location ? { user_location: present(location) } : {}),
    },
  };
  const isDeferred = parsed.defer_loading === true;
  return { tool, name: parsed.name, isDeferred, maxUses: parsed.max_uses ?? null };
};

/** Tools that Anthropic defines and the client runs. */
const RUN_BY_CLIENT = /^(?:bash|text_editor|memory|computer|browser)_/;

const unsupported = (type: string, at: string): GatewayError => {
  const param = `${at}.type`;
  const why = RUN_BY_CLIENT.test(type)
    ? 'only Claude models know its input. Declare a tool with an input_schema instead.'
    : "it would run on Anthropic's servers. Remove it from the request.";
  return gatewayError('unsupported_tool', {
    param,
    message: `Unsupported tool: '${param}' is '${quoted(type)}', which this server does not have: ${why}`,
  });
};

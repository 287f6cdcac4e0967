import { z } from 'zod';

import { gatewayError } from '../../../canonical/failure/failure.ts';
import type { HostedTool } from '../../../canonical/request/tool.ts';
import { jsonObject, listOf, longText, MAX_WORDS } from '../../../apis/bounds.ts';
import { noteUnread, notAnObject, parseBody } from '../../../apis/validation.ts';
import { isJsonObject, present, textIn, type JsonObject } from '../../../kit/json/json.ts';
import { quoted } from '../../../kit/text/display.ts';

/** Where a request has its servers. */
export const MCP_PLACE = 'mcp_servers';

const serverSchema = z.object({
  type: z.literal('url'),
  name: z.string().min(1).max(256),
  /** Absent or empty: a server of this deployment. */
  url: longText.nullish(),
  authorization_token: longText.nullish(),
  tool_configuration: z
    .object({ enabled: z.boolean().nullish(), allowed_tools: listOf(longText, MAX_WORDS).nullish() })
    .nullish(),
});

const toolConfig = z.object({ enabled: z.boolean().nullish() });
const toolsetSchema = z.object({
  type: z.literal('mcp_toolset'),
  mcp_server_name: z.string().min(1).max(256),
  default_config: toolConfig.nullish(),
  configs: jsonObject.nullish(),
  cache_control: z.unknown().optional(),
});

/** The tools of an MCP server that the model may call; null: all. */
type Allowed = readonly string[] | null;

export interface McpServers {
  readonly tools: readonly HostedTool[];
  /** The location of each in the body. */
  readonly places: readonly string[];
}

/** A toolset among the tools of a request, and its location. */
export type Toolset = readonly [value: JsonObject, at: string];

/**
 * The MCP servers of a request, as the Responses API names them. A toolset chooses among the tools of one; in the older
 * form the server itself does.
 */
export const readMcpServers = (
  servers: readonly unknown[],
  toolsets: readonly Toolset[],
  ignored: string[],
): McpServers => {
  const chosen = new Map<string, Allowed>();
  const declared = new Set<string>();
  for (const [value, at] of toolsets) {
    const [name, allowed] = readToolset(value, at, ignored);
    if (chosen.has(name))
      throw invalid(`${at}.mcp_server_name`, `there are two toolsets of '${quoted(name)}'.`);
    chosen.set(name, allowed);
  }
  const tools: HostedTool[] = [];
  const places: string[] = [];
  for (const [index, value] of servers.entries()) {
    const at = `${MCP_PLACE}[${index}]`;
    if (!isJsonObject(value)) throw notAnObject(at, value);
    noteUnread(ignored, serverSchema, value, at);
    const {
      name,
      url,
      authorization_token: token,
      tool_configuration: own,
    } = parseBody(serverSchema, value, at);
    if (declared.has(name))
      throw invalid(`${at}.name`, `there are two servers with the name '${quoted(name)}'.`);
    declared.add(name);
    const allowed = chosen.get(name) ?? own?.allowed_tools ?? null;
    if (own?.enabled === false || allowed?.length === 0) continue;
    const address = (url ?? '') === '' ? {} : { server_url: url, authorization: token ?? null };
    tools.push({
      kind: 'hosted',
      raw: {
        type: 'mcp',
        server_label: name,
        // This API cannot ask for approval.
        require_approval: 'never',
        ...present({ ...address, allowed_tools: allowed }),
      },
    });
    places.push(at);
  }
  const lost = toolsets.find(([value]) => !declared.has(textIn(value, 'mcp_server_name')));
  if (lost !== undefined) throw invalid(`${lost[1]}.mcp_server_name`, "'mcp_servers' has no such server.");
  return { tools, places };
};

const readToolset = (value: JsonObject, at: string, ignored: string[]): readonly [string, Allowed] => {
  noteUnread(ignored, toolsetSchema, value, at);
  const { mcp_server_name: name, default_config: usual, configs } = parseBody(toolsetSchema, value, at);
  const isOn = usual?.enabled !== false;
  const named: string[] = [];
  for (const [tool, config] of Object.entries(configs ?? {})) {
    const place = `${at}.configs.${quoted(tool)}`;
    const { enabled } = parseBody(toolConfig, config, place);
    // MCP servers of the Responses API have a list of what is allowed, and none of what is not.
    if (isOn && enabled === false) {
      throw gatewayError('unsupported_value', {
        param: `${place}.enabled`,
        message: `${place}.enabled: one tool cannot be disabled. Disable all in 'default_config', and enable those that the model may call.`,
      });
    }
    if (enabled ?? isOn) named.push(tool);
  }
  return [name, isOn ? null : named];
};

/** The fields of a server by their names in the Responses API. */
const FIELDS: Readonly<Record<string, string>> = {
  server_label: 'name',
  server_url: 'url',
  authorization: 'authorization_token',
  allowed_tools: 'tool_configuration.allowed_tools',
};

/** The place of a field of a tool or MCP server. */
export const toolFieldPlace = (place: string, field: string): string =>
  `${place}.${place.startsWith(MCP_PLACE) ? (FIELDS[field] ?? field) : field}`;

const invalid = (param: string, why: string) =>
  gatewayError('invalid_value', { param, message: `${param}: ${why}` });

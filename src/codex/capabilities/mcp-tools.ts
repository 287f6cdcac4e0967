import { mcpNamespace } from '../../canonical/mcp/mcp-tools.ts';
import {
  isMcpLabel,
  MCP_CALL_SECONDS,
  MCP_STARTUP_SECONDS,
  mcpHeaderProblem,
  mcpUrlProblem,
  type McpServer,
} from '../../canonical/mcp/mcp-server.ts';
import { mayNeedApproval, readMcpRules, type McpUse } from '../../canonical/mcp/mcp-use.ts';
import type { Path } from '../../canonical/request/path.ts';
import type { Rejection } from '../../canonical/failure/rejection.ts';
import {
  toolsLeft,
  type HostedTool,
  type RawTool,
  type Tool,
  type ToolChoice,
} from '../../canonical/request/tool.ts';
import { isJsonObject, type Json } from '../../kit/json/json.ts';
import { quoted } from '../../kit/text/display.ts';

/** Which MCP servers the app-server may run or connect to. */
export interface McpPolicy {
  /** Servers configured by the deployment, by label. */
  readonly deployment: ReadonlyMap<string, { readonly server: McpServer }>;
  /** Whether clients may name servers by URL. */
  readonly allowsClientServers: boolean;
}

export interface SortedTools {
  /** Tools to send to the backend. */
  readonly tools: readonly Tool[];
  /** MCP servers to provide for this request. */
  readonly uses: readonly McpUse[];
  readonly refused: readonly Rejection[];
  /** Fields of these servers that have no effect. */
  readonly ignored: readonly Path[];
}

export interface SortOptions {
  readonly choice: ToolChoice;
  readonly canApprove: boolean;
  readonly policy: McpPolicy;
  /** Whether the backend itself connects to MCP servers. */
  readonly hasHostedMcp: boolean;
}

/**
 * Separates MCP servers from the other tools. A server named only by label is one of the deployment. A server
 * with a URL is left to the backend, or used here if the deployment allows it.
 */
export const sortTools = (
  tools: readonly Tool[],
  { choice, canApprove, policy, hasHostedMcp }: SortOptions,
): SortedTools => {
  const left = new Set(toolsLeft(tools, choice));
  const refused: Rejection[] = [];
  const ignored: Path[] = [];
  const uses: McpUse[] = [];
  const labels = new Set<string>();
  const others = tools.filter((tool, index) => {
    if (!isMcpTool(tool) || (isForBackend(tool.raw, policy) && hasHostedMcp)) return true;
    const refuse = (kind: Rejection['kind'], why: string): void =>
      void refused.push({ path: { tool: index }, kind, why });
    const server = serverOf(tool.raw, policy);
    if ('kind' in server) refuse(server.kind, server.why);
    else if (labels.has(mcpNamespace(server.label))) {
      refuse(
        'invalid_value',
        `the label '${quoted(server.label)}' is already used for another server of this request.`,
      );
    } else if (labels.size >= MAX_SERVERS) {
      refuse('invalid_value', `a request can use at most ${MAX_SERVERS} MCP servers.`);
    } else {
      labels.add(mcpNamespace(server.label));
      const rules = readMcpRules(tool.raw, server.requireApproval);
      if ('problem' in rules) refuse('invalid_value', rules.problem);
      else if (!canApprove && mayNeedApproval(rules.approval)) refuse('invalid_value', NO_APPROVALS);
      else if (left.has(tool)) uses.push({ server, ...rules });
      ignored.push(...unusedMcpFields(tool.raw).map((field) => ({ toolField: { tool: index, field } })));
    }
    return false;
  });
  tools.forEach((tool, index) => {
    if (tool.kind !== 'namespace' || !labels.has(tool.name)) return;
    const why = 'this name is already used for the tools of an MCP server.';
    refused.push({ path: { tool: index }, kind: 'invalid_value', why });
  });
  return { tools: others, uses, refused, ignored };
};

/** Each server is started or connected to for the request, and other turns of the worker wait meanwhile. */
const MAX_SERVERS = 64;

export const NO_APPROVALS = "its 'require_approval' must be 'never': this API cannot ask for approval.";

export const isMcpTool = (tool: Tool): tool is HostedTool =>
  tool.kind === 'hosted' && tool.raw.type === 'mcp';

/** An empty value counts as unset: some clients cannot omit it. */
const isSet = (value: Json | undefined): boolean => value !== undefined && value !== null && value !== '';

/** Whether the client says where the server is. */
export const hasAddress = (raw: RawTool): boolean => isSet(raw['server_url']) || isSet(raw['connector_id']);

const READ_FIELDS: ReadonlySet<string> = new Set([
  'type',
  'server_label',
  'allowed_tools',
  'require_approval',
]);
const READ_WITH_ADDRESS: ReadonlySet<string> = new Set(['server_url', 'authorization', 'headers']);

/**
 * The fields that have no effect: a deployment's server has its own headers, and the backend does not see the
 * tool.
 */
export const unusedMcpFields = (raw: RawTool): readonly string[] =>
  Object.keys(raw).filter(
    (field) =>
      isSet(raw[field]) && !READ_FIELDS.has(field) && !(hasAddress(raw) && READ_WITH_ADDRESS.has(field)),
  );

/** Whether only the backend can reach the server, or is meant to. */
const isForBackend = (raw: RawTool, { allowsClientServers }: McpPolicy): boolean =>
  hasAddress(raw) &&
  !(allowsClientServers && isSet(raw['server_url']) && typeof raw['server_url'] === 'string');

/** Why a label cannot be used: it is not among these. */
export const unknownMcpLabel = (label: string, known: readonly string[]): string => {
  const all = known.map((name) => `'${name}'`).join(', ');
  const which = all === '' ? 'none is configured' : `configured are ${all}`;
  return `there is no MCP server '${quoted(label)}', and no URL is given; ${which}.`;
};

type Wrong = Pick<Rejection, 'kind' | 'why'>;

const invalid = (why: string): Wrong => ({ kind: 'invalid_value', why });

const serverOf = (raw: RawTool, policy: McpPolicy): McpServer | Wrong => {
  const { server_label: label, server_url: url = null } = raw;
  if (typeof label !== 'string' || !isMcpLabel(label)) {
    return invalid('its label must have 1 to 64 letters, digits, `_` and `-`.');
  }
  if (!hasAddress(raw)) {
    const known = policy.deployment.get(label);
    if (known !== undefined) return known.server;
    return invalid(unknownMcpLabel(label, [...policy.deployment.keys()]));
  }
  if (!policy.allowsClientServers || typeof url !== 'string') {
    return {
      kind: 'unsupported_tool',
      why: 'is an MCP server of the client, which neither the backend nor this server connects to',
    };
  }
  const problem = mcpUrlProblem(url);
  if (problem !== null) return invalid(`its URL ${problem}.`);
  return clientServer(raw, label, url);
};

const clientServer = (raw: RawTool, label: string, url: string): McpServer | Wrong => {
  const { headers: given = null, authorization = null } = raw;
  const headers = isJsonObject(given) ? Object.entries(given) : [];
  if (given !== null && !isJsonObject(given)) {
    return invalid("its 'headers' must be an object of strings.");
  }
  if (authorization !== null && typeof authorization !== 'string') {
    return invalid("its 'authorization' must be a string.");
  }
  const all: Record<string, string> = {};
  for (const [name, value] of headers) {
    const problem = typeof value === 'string' ? mcpHeaderProblem(name, value) : 'must be a text';
    if (problem !== null) return invalid(`its header '${quoted(name)}' ${problem}.`);
    if (typeof value === 'string') all[name] = value;
  }
  if (authorization !== null) {
    const problem = mcpHeaderProblem('authorization', authorization);
    if (problem !== null) return invalid(`its 'authorization' ${problem}.`);
    all['authorization'] = `Bearer ${authorization}`;
  }
  return {
    label,
    transport: { kind: 'http', url, headers: all },
    startupSeconds: MCP_STARTUP_SECONDS,
    callSeconds: MCP_CALL_SECONDS,
    requireApproval: 'always',
  };
};

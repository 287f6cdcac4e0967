import { isJsonObject, type Json } from '../../kit/json/json.ts';
import type { McpServer } from './mcp-server.ts';
import type { AnnotatedTool } from './mcp-tools.ts';
import type { RawTool } from '../request/tool.ts';

/** Selects tools of a server. A null field does not restrict. */
export interface McpFilter {
  readonly names: ReadonlySet<string> | null;
  readonly readOnly: boolean | null;
}

/** Which calls need approval. A tool in both lists needs none. */
export interface McpApproval {
  readonly always: McpFilter | null;
  readonly never: McpFilter | null;
  /** For tools in neither list. */
  readonly otherwise: 'always' | 'never';
}

/** How a request uses the tools of a server. */
export interface McpRules {
  /** Null: all tools. */
  readonly allowed: McpFilter | null;
  readonly approval: McpApproval;
}

export interface McpUse extends McpRules {
  readonly server: McpServer;
}

export const isAmong = ({ names, readOnly }: McpFilter, tool: AnnotatedTool): boolean =>
  (names === null || names.has(tool.name)) && (readOnly === null || isReadOnly(tool) === readOnly);

const isReadOnly = ({ annotations }: AnnotatedTool): boolean =>
  isJsonObject(annotations) && annotations['readOnlyHint'] === true;

export const needsApproval = ({ always, never, otherwise }: McpApproval, tool: AnnotatedTool): boolean => {
  if (never !== null && isAmong(never, tool)) return false;
  return otherwise === 'always' || (always !== null && isAmong(always, tool));
};

/** Whether any call may need approval. */
export const mayNeedApproval = ({ always, otherwise }: McpApproval): boolean =>
  otherwise === 'always' || always !== null;

/**
 * Reads the allowed tools and the approval rules of an MCP tool in a request, or describes what is wrong with them.
 * `standard`: whether calls need approval if the request does not say.
 */
export const readMcpRules = (
  raw: RawTool,
  standard: McpApproval['otherwise'],
): McpRules | { readonly problem: string } => {
  const allowed = readFilter(raw['allowed_tools']);
  if (allowed === 'wrong') return { problem: `its 'allowed_tools' must be ${FILTER}.` };
  const approval = readApproval(raw['require_approval'] ?? null, standard);
  if (approval === null) {
    return { problem: `its 'require_approval' must be 'always', 'never', or an object with these.` };
  }
  // Before a server has listed its tools, the app-server can only be configured with names and with "run read-only tools".
  if (allowed?.readOnly === false)
    return { problem: `'read_only: false' in its 'allowed_tools' is not supported.` };
  if (approval.never?.readOnly === false || approval.always?.readOnly === true) {
    return {
      problem: `its 'require_approval' is stricter for read-only calls than for others, which is not supported.`,
    };
  }
  return { allowed, approval };
};

const FILTER = "an array of names, or an object with 'tool_names' or 'read_only'";

const readApproval = (value: Json, standard: McpApproval['otherwise']): McpApproval | null => {
  const all = value ?? standard;
  if (all === 'always' || all === 'never') return { always: null, never: null, otherwise: all };
  if (!isJsonObject(all)) return null;
  const always = readFilter(all['always']);
  const never = readFilter(all['never']);
  return always === 'wrong' || never === 'wrong' ? null : { always, never, otherwise: standard };
};

const readFilter = (value: Json | undefined): McpFilter | null | 'wrong' => {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value)) return filterOf(value as readonly Json[], null);
  if (!isJsonObject(value)) return 'wrong';
  const { tool_names: names = null, read_only: readOnly = null } = value;
  if (names !== null && !Array.isArray(names)) return 'wrong';
  if (readOnly !== null && typeof readOnly !== 'boolean') return 'wrong';
  return filterOf(names as readonly Json[] | null, readOnly);
};

const filterOf = (names: readonly Json[] | null, readOnly: boolean | null): McpFilter | 'wrong' => {
  if (names !== null && !names.every((name) => typeof name === 'string')) return 'wrong';
  return { names: names === null ? null : new Set(names), readOnly };
};

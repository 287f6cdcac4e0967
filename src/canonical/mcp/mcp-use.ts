import { isJsonObject, type Json } from '../../kit/json/json.ts';
import type { McpServer } from './mcp-server.ts';
import type { McpToolInfo } from './mcp-tools.ts';
import type { RawTool } from '../request/tool.ts';

/** Some tools of a server; null stands for what was not said. */
export interface McpFilter {
  readonly names: ReadonlySet<string> | null;
  readonly readOnly: boolean | null;
}

/** Which calls a person must agree to. A tool that stands in both lists needs nobody. */
export interface McpApproval {
  readonly always: McpFilter | null;
  readonly never: McpFilter | null;
  /** For tools that stand in neither. */
  readonly otherwise: 'always' | 'never';
}

/** A server that a request makes use of, and how. */
export interface McpUse {
  readonly server: McpServer;
  /** Null: all of its tools. */
  readonly allowed: McpFilter | null;
  readonly approval: McpApproval;
}

export const isAmong = (
  { names, readOnly }: McpFilter,
  tool: Pick<McpToolInfo, 'name' | 'annotations'>,
): boolean =>
  (names === null || names.has(tool.name)) && (readOnly === null || isReadOnly(tool) === readOnly);

const isReadOnly = ({ annotations }: Pick<McpToolInfo, 'annotations'>): boolean =>
  isJsonObject(annotations) && annotations['readOnlyHint'] === true;

export const needsApproval = (
  { always, never, otherwise }: McpApproval,
  tool: Pick<McpToolInfo, 'name' | 'annotations'>,
): boolean => {
  if (never !== null && isAmong(never, tool)) return false;
  return otherwise === 'always' || (always !== null && isAmong(always, tool));
};

/** Whether any call at all may have to be agreed to. */
export const mayNeedApproval = ({ always, otherwise }: McpApproval): boolean =>
  otherwise === 'always' || always !== null;

/** Which tools of a server the client allows, and which calls it wants to agree to; a text says what is wrong with it. */
export const readMcpUse = (raw: RawTool, server: McpServer): McpUse | { readonly problem: string } => {
  const allowed = readFilter(raw['allowed_tools']);
  if (allowed === 'wrong') return { problem: `its 'allowed_tools' must be ${FILTER}.` };
  const approval = readApproval(raw['require_approval'] ?? null, server.requireApproval);
  if (approval === null) {
    return { problem: `its 'require_approval' must be 'always', 'never', or an object with these.` };
  }
  // Before a server has said which tools it has, the app-server can only be told names, and to run what only reads.
  if (allowed?.readOnly === false)
    return { problem: `'read_only: false' in its 'allowed_tools' is not supported.` };
  if (approval.never?.readOnly === false || approval.always?.readOnly === true) {
    return {
      problem: `its 'require_approval' is stricter for read-only calls than for others, which is not supported.`,
    };
  }
  return { server, allowed, approval };
};

const FILTER = "an array of names, or an object with 'tool_names' or 'read_only'";

const readApproval = (given: Json, standard: McpApproval['otherwise']): McpApproval | null => {
  const all = given ?? standard;
  if (all === 'always' || all === 'never') return { always: null, never: null, otherwise: all };
  if (!isJsonObject(all)) return null;
  const always = readFilter(all['always']);
  const never = readFilter(all['never']);
  return always === 'wrong' || never === 'wrong' ? null : { always, never, otherwise: standard };
};

const readFilter = (given: Json | undefined): McpFilter | null | 'wrong' => {
  if (given === undefined || given === null) return null;
  if (Array.isArray(given)) return filterOf(given as readonly Json[], null);
  if (!isJsonObject(given)) return 'wrong';
  const { tool_names: names = null, read_only: readOnly = null } = given;
  if (names !== null && !Array.isArray(names)) return 'wrong';
  if (readOnly !== null && typeof readOnly !== 'boolean') return 'wrong';
  return filterOf(names as readonly Json[] | null, readOnly);
};

const filterOf = (names: readonly Json[] | null, readOnly: boolean | null): McpFilter | 'wrong' => {
  if (names !== null && !names.every((name) => typeof name === 'string')) return 'wrong';
  return { names: names === null ? null : new Set(names), readOnly };
};

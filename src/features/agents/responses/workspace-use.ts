import {
  isAmong,
  needsApproval,
  readMcpRules,
  type McpFilter,
  type McpRules,
} from '../../../canonical/mcp/mcp-use.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { Rejection } from '../../../canonical/failure/rejection.ts';
import type { Path } from '../../../canonical/request/path.ts';
import {
  isRunByClient,
  toolsLeft,
  type HostedTool,
  type Tool,
  type ToolChoice,
  type ToolRef,
} from '../../../canonical/request/tool.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import {
  hasAddress,
  isMcpTool,
  NO_APPROVALS,
  unusedMcpFields,
} from '../../../codex/capabilities/mcp-tools.ts';
import { quoted } from '../../../kit/text/display.ts';
import { CODEX_TOOLS, type CodexTool } from '../run/port.ts';
import { isCodexTool, workspaceTools, type CodexToolInfo } from '../workspaces/tools.ts';

/** How a request uses a workspace. */
export interface WorkspaceUse {
  readonly workspace: Workspace;
  /** What the model may call. */
  readonly tools: readonly CodexToolInfo[];
  readonly needsApproval: (tool: CodexTool) => boolean;
}

export interface SortedWorkspaces {
  /** Null: the request has none, or its tool choice leaves it out. */
  readonly use: WorkspaceUse | null;
  /** The other tools. */
  readonly tools: readonly Tool[];
  /** Their positions in the request. */
  readonly places: readonly number[];
  readonly refused: readonly Rejection[];
  /** Fields of the workspace's tool that have no effect. */
  readonly ignored: readonly Path[];
}

/** Separates the workspace of a request from its other tools. `usable` has those that its key may use. */
export const sortWorkspaces = (
  { tools, toolChoice, canApprove }: TurnRequest,
  usable: readonly Workspace[],
): SortedWorkspaces => {
  const refused: Rejection[] = [];
  const refuse = (tool: number, kind: Rejection['kind'], why: string): void =>
    void refused.push({ path: { tool }, kind, why });
  const left = new Set(toolsLeft(tools, toolChoice));
  const asked = tools.flatMap((tool, index) => {
    if (!isMcpTool(tool) || hasAddress(tool.raw)) return [];
    const workspace = usable.find(({ label }) => label === tool.raw['server_label']);
    return workspace === undefined ? [] : [{ tool, index, workspace }];
  });
  const uses = asked.flatMap(({ tool, index, workspace }, nth): readonly WorkspaceUse[] => {
    if (nth > 0) refuse(index, 'invalid_value', 'a request can use only one workspace.');
    const use = readWorkspaceUse(tool, workspace);
    if ('problem' in use) refuse(index, 'invalid_value', use.problem);
    else if (!canApprove && use.tools.some(({ name }) => use.needsApproval(name)))
      refuse(index, 'invalid_value', NO_APPROVALS);
    else if (left.has(tool)) return [use];
    return [];
  });
  const [use = null] = uses;
  const places = tools.flatMap((_, index) => (asked.some((one) => one.index === index) ? [] : [index]));
  const others = places.flatMap((index) => tools[index] ?? []);
  if (use !== null)
    places.forEach((place, index) => {
      const [kind, why] = conflictOf(others[index], use.workspace.label) ?? [];
      if (kind !== undefined && why !== undefined) refuse(place, kind, why);
    });
  return {
    use,
    tools: others,
    places,
    refused,
    ignored: asked.flatMap(({ tool, index }) =>
      unusedMcpFields(tool.raw).map((field) => ({ toolField: { tool: index, field } })),
    ),
  };
};

/** Why a tool cannot be used together with a workspace; null: it can. */
const conflictOf = (tool: Tool | undefined, label: string): readonly [Rejection['kind'], string] | null => {
  if (tool === undefined) return null;
  if (tool.kind === 'function' || tool.kind === 'custom')
    return isCodexTool(tool.name)
      ? ['invalid_value', 'this name is already used for a tool of the workspace.']
      : null;
  if (isMcpTool(tool) && tool.raw['server_label'] === label)
    return ['invalid_value', 'its label is already used for the workspace of this request.'];
  return isRunByClient(tool)
    ? ['unsupported_tool', 'is run by the client, which is not possible together with a workspace']
    : null;
};

const readWorkspaceUse = (
  { raw }: HostedTool,
  workspace: Workspace,
): WorkspaceUse | { readonly problem: string } => {
  const rules = readMcpRules(raw, workspace.requireApproval);
  if ('problem' in rules) return rules;
  const { allowed, approval } = rules;
  const problem =
    unknownIn(allowed, 'allowed_tools') ??
    unknownIn(approval.always, 'require_approval') ??
    unknownIn(approval.never, 'require_approval');
  if (problem !== null) return { problem };
  if (approval.always?.names?.has('write_stdin') === true) return { problem: TOO_LATE };
  return {
    workspace,
    tools: workspaceTools(workspace.access).filter((tool) => allowed === null || isAmong(allowed, tool)),
    needsApproval: (name) => asksFor(name, approval),
  };
};

const TOO_LATE =
  "its 'require_approval' names 'write_stdin': what it writes to has ended before an approval can come.";

const unknownIn = (filter: McpFilter | null, field: string): string | null => {
  const unknown = [...(filter?.names ?? [])].find((name) => !isCodexTool(name));
  if (unknown === undefined) return null;
  return `its '${field}' names '${quoted(unknown)}', which a workspace does not have: its tools are ${CODEX_TOOLS.join(', ')}.`;
};

/** `always` is about commands and patches: the others need an approval only where a filter names them. */
const asksFor = (name: CodexTool, approval: McpRules['approval']): boolean => {
  const tool = workspaceTools('write').find((one) => one.name === name);
  if (tool === undefined || name === 'write_stdin') return false;
  if (name === 'exec_command' || name === 'apply_patch') return needsApproval(approval, tool);
  const { always, never } = approval;
  return always?.names?.has(name) === true && !(never !== null && isAmong(never, tool));
};

/** The choice in the names that the model knows; null: the workspace has no such tool. */
export const choiceOfCodex = (choice: ToolChoice, { workspace, tools }: WorkspaceUse): ToolChoice | null => {
  const refsOf = (ref: ToolRef): readonly ToolRef[] => {
    if (ref.kind !== 'hosted' || ref.raw.type !== 'mcp' || ref.raw['server_label'] !== workspace.label)
      return [ref];
    const { name: wanted } = ref.raw;
    return tools
      .filter(({ name }) => typeof wanted !== 'string' || name === wanted)
      .map(({ name }) => ({ kind: name === 'apply_patch' ? 'custom' : 'function', name }));
  };
  if (choice.mode === 'allowed') return { ...choice, tools: choice.tools.flatMap(refsOf) };
  if (choice.mode !== 'named') return choice;
  const [first, ...others] = refsOf(choice.tool);
  if (first === undefined) return null;
  if (others.length === 0) return { mode: 'named', tool: first };
  return { mode: 'allowed', required: true, tools: [first, ...others] };
};

import type { Item, RawItem, ToolCall } from '../../../canonical/request/item.ts';
import { inMcpNamespace, mcpHistory, type ApprovedCall } from '../../../codex/translate/mcp-history.ts';
import { placeOf, wholeHistory } from '../../../codex/translate/fit-history.ts';
import type { Rejection } from '../../../canonical/failure/rejection.ts';
import { listIn, isJsonObject, textIn } from '../../../kit/json/json.ts';
import { asCodexCall } from '../run/shown-calls.ts';
import { isCodexTool } from '../run/tools.ts';

export interface ApprovedCodexCall {
  readonly label: string;
  readonly requestId: string;
  readonly call: ToolCall;
  /** The position of the response that approved it. */
  readonly place: number;
}

/** A conversation in which the calls of workspaces are codex's own. */
export interface CodexHistory {
  readonly items: readonly Item[];
  /** Their positions in the request; null: the same. */
  readonly places: readonly number[] | null;
  /** Calls that were approved and have not run: they are not among the items. */
  readonly approved: readonly ApprovedCodexCall[];
  /** Workspaces whose tool list the client has. */
  readonly listed: ReadonlySet<string>;
  readonly refused: readonly Rejection[];
}

type Labels = Pick<ReadonlySet<string>, 'has'>;

export interface LabelOwners {
  readonly workspaces: Labels;
  /** MCP servers of the deployment: their calls are those of a namespace. */
  readonly servers: Labels;
  /** MCP servers of the client in this request. */
  readonly clientServers: Labels;
  /** Whether all items of MCP servers belong to the server itself, because a workspace is among the tools. */
  readonly ownsAll: boolean;
}

/**
 * Translates the items of workspaces into what the model has seen. A label that no server has any more is that of a
 * workspace if its tools are those of codex. Null: there is nothing to translate.
 */
export const codexHistory = (items: readonly Item[], owners: LabelOwners): CodexHistory | null => {
  const read = mcpHistory(wholeHistory(items), (label, item) => {
    if (owners.workspaces.has(label)) return asCodexCall;
    if (owners.servers.has(label)) return owners.ownsAll ? inMcpNamespace : null;
    if (owners.clientServers.has(label)) return null;
    return isOfCodex(item) || (owners.ownsAll && label === '') ? asCodexCall : null;
  });
  if (read.items === items) return null;
  const approved = new Map(read.approved.map((call) => [call.callId, call]));
  const kept = read.items.flatMap((item, index) => {
    const isApproved = 'callId' in item && approved.has(item.callId ?? '');
    return isApproved ? [] : [{ item, place: placeOf(read, index) ?? index }];
  });
  return {
    items: kept.map(({ item }) => item),
    places: kept.map(({ place }) => place),
    approved: read.approved.flatMap((one) => approvedCall(one, read.items)),
    listed: read.listed,
    refused: read.refused,
  };
};

const isOfCodex = (item: RawItem): boolean => {
  if (item.type !== 'mcp_list_tools') return isCodexTool(textIn(item, 'name'));
  const tools = listIn(item, 'tools');
  return tools.length > 0 && tools.every((tool) => isJsonObject(tool) && isCodexTool(textIn(tool, 'name')));
};

const approvedCall = (
  { label, requestId, callId, place }: ApprovedCall,
  items: readonly Item[],
): readonly ApprovedCodexCall[] => {
  const call = items.find((item) => item.kind === 'tool-call' && item.callId === callId);
  return call?.kind === 'tool-call' ? [{ label, requestId, call, place }] : [];
};

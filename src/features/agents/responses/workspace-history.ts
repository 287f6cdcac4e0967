import type { Rejection } from '../../../canonical/failure/rejection.ts';
import {
  isModelOutput,
  rawOf,
  type Item,
  type Part,
  type RawItem,
  type ToolCall,
} from '../../../canonical/request/item.ts';
import { placeOf, wholeHistory } from '../../../codex/translate/fit-history.ts';
import { mcpHistory, type ApprovedCall, type WriteMcpCall } from '../../../codex/translate/mcp-history.ts';
import { isJsonObject, listIn, parseJsonObject, textIn, type Json } from '../../../kit/json/json.ts';
import { isCodexTool } from '../workspaces/tools.ts';

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

export interface LabelOwners {
  readonly workspaces: ReadonlySet<string>;
  /** Of MCP servers, whose items are not translated here. */
  readonly servers: ReadonlySet<string>;
  /** Whether a workspace is among the tools: then an approval of an unknown call can only be about it. */
  readonly isUsed: boolean;
}

/**
 * Translates the items of workspaces into what the model has seen. A label that no server has any more is that of a
 * workspace if its tools are those of codex. Null: there is nothing to translate.
 */
export const codexHistory = (
  items: readonly Item[],
  { workspaces, servers, isUsed }: LabelOwners,
): CodexHistory | null => {
  const read = mcpHistory(wholeHistory(items), (label, item) => {
    if (servers.has(label)) return null;
    const isOurs = workspaces.has(label) || isOfCodex(item) || (isUsed && label === '');
    return isOurs ? asCodexCall : null;
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

/** How many calls of a workspace the newest input declines. */
export const declinedIn = (items: readonly Item[], label: string): number => {
  const raws = items.map((item) => (item.kind === 'opaque' ? rawOf(item) : null));
  const asked = raws.filter((raw) => raw?.type === 'mcp_approval_request' && raw['server_label'] === label);
  const requests = new Set(asked.map((raw) => raw?.id));
  const newest = raws.slice(items.findLastIndex(isModelOutput) + 1);
  const declined = newest.filter(
    (raw) =>
      raw?.type === 'mcp_approval_response' &&
      raw['approve'] !== true &&
      requests.has(raw['approval_request_id']),
  );
  return new Set(declined.map((raw) => raw?.['approval_request_id'])).size;
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

/** A call of codex as the model has seen it, from an `mcp_call` or an `mcp_approval_request`. */
const asCodexCall: WriteMcpCall = (raw, callId, output) => {
  const name = textIn(raw, 'name');
  const tool = name === 'apply_patch' ? 'custom' : 'function';
  const given = textIn(raw, 'arguments');
  const input = tool === 'custom' ? patchIn(given) : given;
  return [
    { kind: 'tool-call', tool, callId, name, input },
    { kind: 'tool-output', tool, callId, output: heardOutput(name, output) },
  ];
};

/** Clients without streams may send back another text than they got. */
const patchIn = (given: string): string => {
  const { patch } = parseJsonObject(given) ?? {};
  return typeof patch === 'string' ? patch : given;
};

/** The output that the model heard. Only an image has parts; a command may print any JSON. */
const heardOutput = (name: string, output: string): string | readonly Part[] => {
  if (name !== 'view_image' || !output.startsWith('[{')) return output;
  const parts = listedIn(output).map(partOf);
  return parts.length > 0 && parts.every((part) => part !== null) ? parts : output;
};

const listedIn = (text: string): readonly Json[] => {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as readonly Json[]) : [];
  } catch {
    return [];
  }
};

const DETAILS = ['auto', 'low', 'high', 'original'] as const;

const partOf = (part: Json): Part | null => {
  if (!isJsonObject(part)) return null;
  const { type, text, image_url: url, detail: given } = part;
  if (type === 'input_text' && typeof text === 'string') return { kind: 'text', text };
  if (type !== 'input_image' || typeof url !== 'string') return null;
  const detail = DETAILS.find((one) => one === given);
  return { kind: 'image', url, ...(detail === undefined ? {} : { detail }) };
};

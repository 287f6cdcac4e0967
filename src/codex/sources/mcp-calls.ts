import type { HostedCall, Opaque, RawItem, ToolCall } from '../../canonical/item.ts';
import type { TurnEvent } from '../../canonical/turn-event.ts';
import type { McpToolCall } from '../protocol/methods.ts';
import { toOutputText } from '../translate/mcp-output.ts';

/** A tool of an MCP server that the model may call. */
export interface McpTarget {
  readonly label: string;
  /** The server's own name of it. */
  readonly name: string;
  /** Somebody must agree before it is run. */
  readonly needsApproval: boolean;
}

/** Which tool a call means; null: it is no call of a tool of a server, or of none that there is. */
export type FindMcpTool = (call: Pick<ToolCall, 'name' | 'namespace'>) => McpTarget | null;

/** The call as a client sees it from its start: its arguments and what it gives are still to come. */
export const mcpCallHead = ({ label, name }: McpTarget, callId: string): HostedCall => ({
  kind: 'hosted-call',
  ...idOf('mcp', callId),
  modelCallId: callId,
  raw: mcpCall(label, name),
});

/** In place of a call that nobody has agreed to. */
export const approvalRequest = ({ label, name }: McpTarget, { callId, input }: ToolCall): Opaque => ({
  kind: 'opaque',
  ...idOf('mcpr', callId),
  raw: { type: 'mcp_approval_request', server_label: label, name, arguments: input },
});

/** Ids are made of the model's own, so that a conversation that comes back is the same to it. */
const idOf = (prefix: string, callId: string): { id?: string } =>
  /^[\w-]{1,60}$/.test(callId) ? { id: `${prefix}_${callId}` } : {};

export const mcpCall = (label: string, name: string): RawItem => ({
  type: 'mcp_call',
  status: 'in_progress',
  server_label: label,
  name,
  arguments: '',
  output: null,
  error: null,
  approval_request_id: null,
});

/** How a call ended: a tool may also fail in its result, which the model reads then. */
export type McpOutcome = Pick<McpToolCall, 'status' | 'result' | 'error'> & {
  /** The server's own name of the tool. */
  readonly tool?: string;
};

export const NOT_RUN: McpOutcome = {
  status: 'failed',
  result: null,
  error: { message: 'The call was not run to its end.' },
};

/** What is told when a call has ended. */
export const endOfCall = (
  { raw, modelCallId }: HostedCall,
  itemId: string,
  input: string,
  outcome: McpOutcome,
): readonly TurnEvent[] => [
  { type: 'item-status', itemId, of: 'mcp_call_arguments', status: 'done', more: { arguments: input } },
  { type: 'item-status', itemId, status: outcome.status === 'completed' ? 'completed' : 'failed' },
  {
    type: 'item-ended',
    item: {
      ...endedCall(raw, input, outcome),
      id: itemId,
      ...(modelCallId === undefined ? {} : { modelCallId }),
    },
  },
];

/** The whole call. */
export const endedCall = (
  raw: RawItem,
  input: string,
  { status, result, error, tool }: McpOutcome,
): HostedCall => {
  const isDone = status === 'completed';
  const text = result === null ? null : toOutputText(result);
  return {
    kind: 'hosted-call',
    raw: {
      ...raw,
      ...(tool === undefined ? {} : { name: tool }),
      status: isDone ? 'completed' : 'failed',
      arguments: input,
      output: isDone ? (text ?? '') : null,
      error: isDone ? null : (error?.message ?? text ?? 'The tool failed.'),
    },
    status: 'completed',
  };
};

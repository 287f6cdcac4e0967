import type { HostedCall, Opaque, RawItem, ToolCall } from '../../canonical/request/item.ts';
import type { TurnEvent } from '../../canonical/events/turn-event.ts';
import { safeMessage } from '../failures/safe-message.ts';
import type { McpToolCall } from '../protocol/methods.ts';
import type { JsonObject } from '../../kit/json/json.ts';
import { toOutputText } from '../translate/mcp-output.ts';

/** A tool of an MCP server that the model may call. */
export interface McpToolRef {
  readonly label: string;
  /** The server's own name of it. */
  readonly name: string;
  /** Whether it needs approval before it runs. */
  readonly needsApproval: boolean;
  /** The model may no longer call it: the limit of calls is reached. */
  readonly isWithdrawn?: boolean;
}

/** The MCP tool that a call refers to; null if none. */
export type FindMcpTool = (call: ToolCall) => McpToolRef | null;

export const NO_MCP_TOOLS: FindMcpTool = () => null;

/** The call as a client sees it at its start, before its arguments and output. */
export const mcpCallHead = ({ label, name }: McpToolRef, callId: string): HostedCall => ({
  kind: 'hosted-call',
  ...idOf('mcp', callId),
  modelCallId: callId,
  raw: mcpCall(label, name),
});

/** Replaces a call that needs approval. */
export const approvalRequest = ({ label, name }: McpToolRef, { callId, input }: ToolCall): Opaque => ({
  kind: 'opaque',
  ...idOf('mcpr', callId),
  raw: { type: 'mcp_approval_request', server_label: label, name, arguments: input },
});

/** Ids are derived from the model's call id, so that a conversation sent back looks the same to it. */
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

/** How a call ended. A tool may also report failure in its result, which the model reads. */
export type McpOutcome = Pick<McpToolCall, 'status' | 'result' | 'error'> & {
  /** The server's own name of the tool. */
  readonly tool?: string;
};

/** The outcome of a call that failed for this reason. */
export const failedWith = (message: string): McpOutcome => ({
  status: 'failed',
  result: null,
  error: { message },
});

export const NOT_RUN = failedWith('The call did not finish.');

/** The events at the end of a call. */
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

/** The complete call. */
export const endedCall = (
  raw: RawItem,
  input: string,
  { status, result, error, tool }: McpOutcome,
): HostedCall => {
  const isDone = status === 'completed';
  return {
    kind: 'hosted-call',
    raw: {
      ...raw,
      ...(tool === undefined ? {} : { name: tool }),
      status: isDone ? 'completed' : 'failed',
      arguments: input,
      output: isDone && result !== null ? toOutputText(result) : null,
      error: isDone ? null : errorOf(result, error),
    },
    status: 'completed',
  };
};

/** A tool reports its own failure in its result; all other errors are of the protocol. */
const errorOf = (result: McpOutcome['result'], error: McpOutcome['error']): JsonObject =>
  result === null
    ? {
        type: 'mcp_protocol_error',
        code: INTERNAL_ERROR,
        // The message may contain the local URL that the app-server has from us.
        message: safeMessage(error?.message ?? 'The tool failed.', []),
      }
    : { type: 'mcp_tool_execution_error', content: result.content };

const INTERNAL_ERROR = -32_603;

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
  /** Somebody must agree before it is run. */
  readonly needsApproval: boolean;
  /** The model was not offered it this time: all calls that it may make have been made. */
  readonly isWithdrawn?: boolean;
}

/** Which tool a call means; null: it is no call of a tool of a server, or of none that there is. */
export type FindMcpTool = (call: Pick<ToolCall, 'name' | 'namespace'>) => McpToolRef | null;

export const NO_MCP_TOOLS: FindMcpTool = () => null;

/** The call as a client sees it from its start: its arguments and what it gives are still to come. */
export const mcpCallHead = ({ label, name }: McpToolRef, callId: string): HostedCall => ({
  kind: 'hosted-call',
  ...idOf('mcp', callId),
  modelCallId: callId,
  raw: mcpCall(label, name),
});

/** In place of a call that nobody has agreed to. */
export const approvalRequest = ({ label, name }: McpToolRef, { callId, input }: ToolCall): Opaque => ({
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

/** A call that came to nothing, for this reason. */
export const failedWith = (message: string): McpOutcome => ({
  status: 'failed',
  result: null,
  error: { message },
});

export const NOT_RUN = failedWith('The call did not finish.');

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

/** A tool says in its result that it failed; all else is said by whoever could not run it. */
const errorOf = (result: McpOutcome['result'], error: McpOutcome['error']): JsonObject =>
  result === null
    ? {
        type: 'mcp_protocol_error',
        code: INTERNAL_ERROR,
        // It may name the address at which the app-server has the server from us.
        message: safeMessage(error?.message ?? 'The tool failed.', []),
      }
    : { type: 'mcp_tool_execution_error', content: result.content };

const INTERNAL_ERROR = -32_603;

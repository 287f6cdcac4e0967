import type { TurnEvent } from '../../../canonical/events/turn-event.ts';
import type { TurnContext } from '../../../canonical/context/turn-context.ts';
import type { Workspace } from '../../../canonical/mcp/workspace.ts';
import type { Message, ToolCall } from '../../../canonical/request/item.ts';
import type { TurnRequest } from '../../../canonical/request/turn-request.ts';
import type { Engine } from '../../../engine/engine.ts';

/** Runs codex as an agent: it works in a workspace with its own tools until the model has finished. */
export interface AgentRuns {
  /**
   * Starts a run. Rejects with a `GatewayError` if it cannot start, or with the signal's reason. Aborting the signal ends the
   * run: its commands are ended before the events end.
   */
  start(run: AgentRunRequest, signal: AbortSignal): Promise<AgentRun>;
  /** The free places of a workspace on this server; `runs` of its configuration minus those that run. */
  free(workspace: Workspace): number;
  /** Calls the listener when a place becomes free, until the result is called. */
  whenFree(listener: () => void): () => void;
}

export interface AgentRunRequest {
  /** Null: no folder, and none of codex's tools. */
  readonly workspace: Workspace | null;
  /** May be narrower than that of the workspace. */
  readonly access: Workspace['access'];
  /**
   * What the model gets. Its items have calls of codex's tools in codex's own form: `exec_command` and the like as function
   * calls, `apply_patch` as a custom call, each followed by its output. Its tools are those besides codex's own: calls of
   * functions end the run.
   */
  readonly request: TurnRequest;
  readonly context: TurnContext;
  /** Runs the model requests: the engine of the server, without agents. */
  readonly engine: Engine;
  /** The tools of codex that the model gets; null: all that the workspace allows. */
  readonly tools: ReadonlySet<CodexTool> | null;
  /** Whether a call has to wait for an approval: it is not run then, and the run ends after the other calls. */
  readonly needsApproval: (tool: CodexTool) => boolean;
  /** Calls that were approved. They run first, without asking the model, and each once. */
  readonly approved: readonly ApprovedToolCall[];
  /** Limit on calls of codex's tools; null: none. */
  readonly maxCalls: number | null;
}

/** The tools of codex in a workspace. */
export const CODEX_TOOLS = [
  'exec_command',
  'write_stdin',
  'apply_patch',
  'update_plan',
  'view_image',
] as const;
export type CodexTool = (typeof CODEX_TOOLS)[number];

export interface ApprovedToolCall {
  /** The id of the approval request, which the shown call names. */
  readonly requestId: string;
  readonly call: ToolCall;
}

export interface AgentRun {
  /**
   * The events, once. As those of an ordinary turn, with these additions:
   * - A call of codex's tools is a `hosted-call`, whose `raw` is an `mcp_call` with the label of the workspace (`codex` without
   *   one), with the id `mcp_CALL-ID` and `modelCallId`. Its output is what the model heard.
   * - Live output is an `item-status` with the status `in_progress` and `more: { output_delta }`.
   * - A call that waits for approval is an `opaque` item `mcp_approval_request` with the id `mcpr_CALL-ID`.
   * - `tool-progress` and `steered` are for clients of agents only.
   */
  readonly events: AsyncIterable<AgentEvent>;
  /**
   * Adds a message of the user to the run. False: it is too late, and nothing has happened. True: it was added, and `steered`
   * follows when it is part of the conversation. If the run ends without that event, no model has read the message.
   */
  steer(message: Message): Promise<boolean>;
}

export type AgentEvent = TurnEvent | ToolProgress | Steered;

/** What codex reports of a call besides what the model hears of it. */
export interface ToolProgress {
  readonly type: 'tool-progress';
  /**
   * The id of the hosted call. It has started, and has not ended. After `command-continues` it may have ended: then
   * `command-output` and `command-ended` follow.
   */
  readonly itemId: string;
  readonly progress: CommandStarted | CommandContinues | CommandOutputDelta | CommandEnded | PatchProgress;
}

export interface CommandStarted {
  readonly kind: 'command-started';
  /** As codex runs it: `/bin/bash -lc '…'`. */
  readonly command: string;
  readonly cwd: string;
}

/** The call ends now, and its program goes on. If the run ends before `command-ended`, the program ends with it. */
export interface CommandContinues {
  readonly kind: 'command-continues';
}

/** What a command has written since its call has ended. The calls of `write_stdin` that wait for it show the same. */
export interface CommandOutputDelta {
  readonly kind: 'command-output';
  readonly delta: string;
}

export interface CommandEnded {
  readonly kind: 'command-ended';
  readonly status: 'completed' | 'failed';
  /** All of it, up to a limit of 1 MiB. */
  readonly output: string;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
}

export interface PatchProgress {
  readonly kind: 'patch-started' | 'patch-ended';
  readonly changes: readonly FileChange[];
  /** Why it failed; null: it has not. */
  readonly error: string | null;
}

export interface FileChange {
  /** Relative to the workspace. */
  readonly path: string;
  readonly change: 'add' | 'update' | 'delete';
  readonly movePath: string | null;
  readonly diff: string;
}

/** A message that was added to the run has reached the model. */
export interface Steered {
  readonly type: 'steered';
  readonly message: Message;
}

/** Whether an event is one of an ordinary turn. */
export const isTurnEvent = (event: AgentEvent): event is TurnEvent =>
  event.type !== 'tool-progress' && event.type !== 'steered';

import type { Json, JsonObject } from '../../../kit/json/json.ts';

/** The objects of the Agents API, as clients see them. Times are Unix seconds. */

/** What an agent is made of: a saved one, and the copy in a session. */
export interface AgentSettings {
  readonly name: string | null;
  readonly instructions: string | null;
  readonly model: string;
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null };
  readonly text: { readonly format: AgentTextFormat; readonly verbosity: 'low' | 'medium' | 'high' };
  readonly tools: readonly AgentTool[];
  readonly multi_agent: { readonly enabled: false; readonly max_concurrent_subagents: null };
  readonly service_tier: string;
}

export type AgentTextFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_schema'; readonly schema: JsonObject };

export type AgentTool = AgentFunction | AgentWebSearch | DisabledTool;

export interface AgentFunction {
  readonly type: 'function';
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonObject;
  readonly defer_loading: boolean;
}

export interface AgentWebSearch {
  readonly type: 'web_search';
  readonly mode: 'disabled' | 'cached' | 'live';
  readonly context_size: 'low' | 'medium' | 'high';
  readonly allowed_domains: readonly string[] | null;
  readonly location: JsonObject | null;
}

/** A tool that this server does not have, switched off by the client. */
export interface DisabledTool {
  readonly type: 'programmatic_tool_calling';
  readonly enabled: false;
}

export interface AgentObject extends AgentSettings {
  readonly id: string;
  readonly object: 'agent';
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: number;
  readonly updated_at: number;
}

export type SessionEnvironment =
  | { readonly type: 'none' }
  | {
      readonly type: 'self_hosted';
      readonly id: string;
      readonly workspace_directory: string;
      readonly capability_directories: readonly string[];
      readonly remote_url: '';
    };

export interface RequiredAction {
  readonly type: 'function_call';
  readonly turn_id: string;
  readonly call_id: string;
  readonly name: string;
  readonly arguments: Json;
}

export interface AgentUsage {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
  readonly total_tokens: number;
}

export type SessionStatus = 'idle' | 'in_progress' | 'requires_action' | 'failed';

export interface SessionObject {
  readonly id: string;
  readonly object: 'agent.session';
  readonly agent: AgentSettings & { readonly id: string };
  readonly environment: SessionEnvironment;
  readonly status: SessionStatus;
  readonly required_actions: readonly RequiredAction[];
  readonly error: string | null;
  readonly usage: AgentUsage | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly review: 'none';
  readonly vault_ids: readonly string[];
  readonly created_at: number;
  readonly last_active_at: number;
}

export type SessionTurnStatus = 'queued' | 'in_progress' | 'waiting' | 'completed' | 'failed' | 'cancelled';

/** The codes of failed turns that this server uses, from the closed list of the API. */
export type TurnErrorCode =
  | 'context_length_exceeded'
  | 'max_output_tokens'
  | 'usage_limit_exceeded'
  | 'rate_limit_exceeded'
  | 'server_overloaded'
  | 'connection_failed'
  | 'server_error'
  | 'authentication_error'
  | 'invalid_request'
  | 'sandbox_error'
  | 'request_timeout'
  | 'internal_error';

export interface SessionTurnObject {
  readonly id: string;
  readonly object: 'agent.session.turn';
  readonly agent_id: string;
  readonly session_id: string;
  readonly subagent_id: null;
  readonly status: SessionTurnStatus;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly completed_at: number | null;
  readonly error: { readonly code: TurnErrorCode; readonly message: string } | null;
  readonly usage: AgentUsage | null;
}

type CallStatus = 'in_progress' | 'completed' | 'failed' | 'incomplete';
type OutputStatus = 'in_progress' | 'completed' | 'incomplete';

interface ItemBase {
  readonly id: string;
  readonly turn_id: string;
}

export interface SessionMessage extends ItemBase {
  readonly type: 'message';
  readonly role: 'user' | 'assistant';
  readonly content: readonly SessionMessageContent[];
  readonly phase: 'commentary' | 'final_answer' | null;
  readonly status: OutputStatus;
}

export type SessionMessageContent =
  | SessionInputContent
  | { readonly type: 'output_text'; readonly text: string };

export type SessionInputContent =
  | { readonly type: 'input_text'; readonly text: string }
  | { readonly type: 'input_image'; readonly image_url: string };

export interface SessionReasoning extends ItemBase {
  readonly type: 'reasoning';
  readonly summary: readonly { readonly type: 'summary_text'; readonly text: string }[];
  readonly status: OutputStatus;
}

export interface SessionCommand extends ItemBase {
  readonly type: 'command_execution';
  readonly command: string;
  readonly cwd: string | null;
  readonly status: CallStatus;
  /** Null until it has ended. */
  readonly output: string | null;
  readonly exit_code: number | null;
  readonly duration_ms: number | null;
}

export interface SessionFunctionCall extends ItemBase {
  readonly type: 'function_call';
  readonly call_id: string;
  readonly name: string;
  /** An object, unless the model wrote something else. */
  readonly arguments: Json;
  readonly status: CallStatus;
}

export interface SessionFunctionOutput extends ItemBase {
  readonly type: 'function_call_output';
  readonly call_id: string;
  readonly output: string | readonly SessionInputContent[] | null;
  readonly error: string | null;
  readonly status: CallStatus;
}

/** Of the server `codex`: the tools of codex without an item type of their own, such as `apply_patch`. */
export interface SessionMcpCall extends ItemBase {
  readonly type: 'mcp_call';
  readonly server_label: string;
  readonly name: string;
  readonly arguments: Json;
  readonly output: Json;
  readonly error: Json;
  readonly status: CallStatus;
}

export interface SessionWebSearch extends ItemBase {
  readonly type: 'web_search_call';
  readonly action: Json;
  readonly status: OutputStatus;
}

export type SessionItem =
  | SessionMessage
  | SessionReasoning
  | SessionCommand
  | SessionFunctionCall
  | SessionFunctionOutput
  | SessionMcpCall
  | SessionWebSearch;

/** An event of a session without its id. */
export type SessionEvent =
  | {
      readonly type: 'agent.session.created' | `agent.session.${SessionStatus}`;
      readonly session: SessionObject;
    }
  | (OfTurn & {
      readonly type: 'agent.session.turn.created' | 'agent.session.turn.in_progress';
      readonly turn: SessionTurnObject;
    })
  | (OfTurn & {
      readonly type:
        | 'agent.session.turn.completed'
        | 'agent.session.turn.failed'
        | 'agent.session.turn.cancelled';
      readonly turn: SessionTurnObject;
      readonly usage: AgentUsage | null;
    })
  /** Of this server only: the API has no plans. Clients skip events that they do not know. */
  | (OfTurn & { readonly type: 'codex.turn.plan.updated'; readonly plan: Json })
  | (OfTurn & {
      readonly type: 'agent.session.turn.item.added' | 'agent.session.turn.item.done';
      readonly output_index: number | null;
      readonly item: SessionItem;
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.content_part.added' | 'agent.session.turn.content_part.done';
      readonly content_index: number;
      readonly part: { readonly type: 'output_text'; readonly text: string };
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.output_text.delta';
      readonly content_index: number;
      readonly delta: string;
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.output_text.done';
      readonly content_index: number;
      readonly text: string;
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.reasoning_summary_part.added';
      readonly summary_index: number;
      readonly part: { readonly type: 'summary_text'; readonly text: string };
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.reasoning_summary_part.done';
      readonly summary_index: number;
      readonly part: { readonly type: 'summary_text'; readonly text: string };
      readonly status: 'incomplete' | null;
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.reasoning_summary_text.delta';
      readonly summary_index: number;
      readonly delta: string;
    })
  | (OfItem & {
      readonly type: 'agent.session.turn.reasoning_summary_text.done';
      readonly summary_index: number;
      readonly text: string;
    })
  | (OfItem & {
      readonly type: 'agent.output.command_execution_output.delta';
      readonly delta: string;
    });

interface OfTurn {
  readonly session_id: string;
  readonly turn_id: string;
}

interface OfItem extends OfTurn {
  readonly item_id: string;
  readonly output_index: number;
}

/** An event as clients get it. */
export type StoredAgentEvent = SessionEvent & { readonly event_id: string };

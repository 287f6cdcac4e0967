import type { ToolCall } from '../../../canonical/request/item.ts';
import { addUsage, type Usage } from '../../../canonical/events/usage.ts';
import type { Json } from '../../../kit/json/json.ts';
import type { AgentSessionRow, SessionPhase } from '../store/port.ts';
import type {
  AgentSettings,
  AgentUsage,
  SessionEnvironment,
  SessionInputContent,
  SessionObject,
  SessionStatus,
  SessionTurnObject,
  SessionTurnStatus,
  TurnErrorCode,
} from './objects.ts';

/** What the client of a session has chosen. */
export interface SessionSettings {
  readonly agent: AgentSettings & { readonly id: string };
  readonly environment: SessionEnvironment;
  /** Narrower than that of the workspace; null: that of the workspace. */
  readonly access: 'read' | null;
}

/** What has become of a session, as it is stored. */
export interface SessionState {
  /** How many turns it has had. */
  readonly turns: number;
  /** Of the turns that have ended. */
  readonly usage: Usage | null;
  /** Why it cannot go on. */
  readonly error: string | null;
  /** The turn that has not ended. */
  readonly turn: OpenTurn | null;
}

export interface OpenTurn {
  readonly id: string;
  readonly pos: number;
  /** Milliseconds. */
  readonly createdAt: number;
  /** Null: it has not begun. */
  readonly startedAt: number | null;
  /** As they were when it was created. */
  readonly agent: SessionSettings['agent'];
  readonly usage: Usage | null;
  /** The `output_index` of the next item. */
  readonly nextIndex: number;
  /** How long it has run. */
  readonly ranMs: number;
  /** The id of its newest step: another one may have begun since. Null: none has. */
  readonly step: string | null;
  /** Messages that have not reached the model. */
  readonly input: readonly TurnMessage[];
  /** Calls that its client has to answer, or has answered, since the model was asked last. */
  readonly calls: readonly WaitingCall[];
  /** Its client has cancelled it while it ran. */
  readonly isCancelled: boolean;
  /** Messages that came after that, for the next turn. */
  readonly next: readonly TurnMessage[];
}

export interface TurnMessage {
  readonly id: string;
  readonly content: readonly SessionInputContent[];
}

/** A call of the model that its client is asked for: of a function, or one that needs approval. */
export interface AskedCall {
  readonly callId: string;
  readonly name: string;
  readonly arguments: Json;
  /** The call of the model. */
  readonly call: ToolCall;
  /** The id of the approval request; null: a function is called. */
  readonly requestId: string | null;
  /** Of its item. */
  readonly itemId: string;
}

/** One that waits for the client. */
export interface WaitingCall extends AskedCall {
  readonly pos: number;
  readonly index: number;
  /** Milliseconds. */
  readonly askedAt: number;
  /** Null: it is not answered. */
  readonly answer: CallAnswer | null;
}

export interface CallAnswer {
  /** Of an approval. */
  readonly isApproved: boolean;
  /** The place of the item of the answer. */
  readonly pos: number;
}

export const NEW_STATE: SessionState = { turns: 0, usage: null, error: null, turn: null };

export const readState = ({ state }: AgentSessionRow): SessionState => JSON.parse(state) as SessionState;

export const readSettings = ({ settings }: AgentSessionRow): SessionSettings =>
  JSON.parse(settings) as SessionSettings;

const STATUSES: Readonly<Record<SessionPhase, SessionStatus>> = {
  idle: 'idle',
  queued: 'in_progress',
  ready: 'in_progress',
  running: 'in_progress',
  waiting: 'requires_action',
  failed: 'failed',
};

const TURN_STATUSES: Readonly<Record<SessionPhase, SessionTurnStatus>> = {
  idle: 'completed',
  failed: 'failed',
  queued: 'queued',
  ready: 'in_progress',
  running: 'in_progress',
  waiting: 'waiting',
};

export const seconds = (milliseconds: number): number => Math.floor(milliseconds / 1000);

const showUsage = (usage: Usage | null): AgentUsage | null =>
  usage === null
    ? null
    : {
        input_tokens: usage.inputTokens,
        input_tokens_details: { cached_tokens: usage.cachedInputTokens },
        output_tokens: usage.outputTokens,
        output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
        total_tokens: usage.totalTokens,
      };

/** What a session is shown from. */
export interface ShownSession {
  readonly id: string;
  readonly phase: SessionPhase;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  readonly metadata: AgentSessionRow['metadata'];
  readonly settings: SessionSettings;
  readonly state: SessionState;
}

export const showSession = ({ settings, state, ...row }: ShownSession): SessionObject => {
  const { turn } = state;
  return {
    id: row.id,
    object: 'agent.session',
    agent: settings.agent,
    environment: settings.environment,
    status: STATUSES[row.phase],
    required_actions:
      row.phase !== 'waiting' || turn === null
        ? []
        : turn.calls
            .filter(({ answer }) => answer === null)
            .map((call) => ({
              type: 'function_call',
              turn_id: turn.id,
              call_id: call.callId,
              name: call.name,
              arguments: call.arguments,
            })),
    error: state.error,
    usage: showUsage(addUsage(state.usage, turn?.usage ?? null)),
    metadata: row.metadata,
    review: 'none',
    vault_ids: [],
    created_at: seconds(row.createdAt),
    last_active_at: seconds(row.lastActiveAt),
  };
};

/** The session of a row. */
export const showRow = (row: AgentSessionRow): SessionObject =>
  showSession({ ...row, settings: readSettings(row), state: readState(row) });

/** How a turn ended. */
export interface HowTurnEnded {
  readonly status: 'completed' | 'failed' | 'cancelled';
  readonly error: { readonly code: TurnErrorCode; readonly message: string } | null;
}

export interface SessionTurnEnd extends HowTurnEnded {
  readonly at: number;
}

/** A turn that has not ended, or that ends now. */
export const showTurn = (
  sessionId: string,
  turn: OpenTurn,
  at: SessionPhase | SessionTurnEnd,
): SessionTurnObject => {
  const ending = typeof at === 'string' ? null : at;
  return {
    id: turn.id,
    object: 'agent.session.turn',
    agent_id: turn.agent.id,
    session_id: sessionId,
    subagent_id: null,
    status: typeof at === 'string' ? TURN_STATUSES[at] : at.status,
    created_at: seconds(turn.createdAt),
    started_at: turn.startedAt === null ? null : seconds(turn.startedAt),
    completed_at: ending === null ? null : seconds(ending.at),
    error: ending?.error ?? null,
    usage: ending === null && turn.usage === null ? null : showUsage(turn.usage),
  };
};

import type {
  AgentObject,
  SessionItem,
  SessionObject,
  SessionTurnObject,
  StoredAgentEvent,
} from './objects.ts';

/** Who asks. What belongs to another key is unknown. */
export interface AgentCaller {
  readonly keyId: string;
  /** The request in the log that this belongs to. */
  readonly requestId: string;
  readonly signal: AbortSignal;
}

/**
 * The Agents API without HTTP. Bodies are those of the API, and are checked here. All methods reject with a `GatewayError`
 * in the words of the API, such as 404 `unknown_session`.
 */
export interface AgentSessions {
  create(caller: AgentCaller, body: unknown, options?: CreateOptions): Promise<CreatedSession>;
  /** Posts input events: messages, a cancellation, results of functions. */
  input(caller: AgentCaller, sessionId: string, body: unknown, options?: InputOptions): Promise<PostedInput>;
  retrieve(caller: AgentCaller, sessionId: string): Promise<SessionObject>;
  list(caller: AgentCaller, query: URLSearchParams): Promise<ListPage<SessionObject>>;
  update(caller: AgentCaller, sessionId: string, body: unknown): Promise<UpdatedSession>;
  /** Rejects with `session_busy` while a turn has not ended. */
  delete(caller: AgentCaller, sessionId: string): Promise<void>;
  turn(caller: AgentCaller, sessionId: string, turnId: string): Promise<SessionTurnObject>;
  turns(caller: AgentCaller, sessionId: string, query: URLSearchParams): Promise<ListPage<SessionTurnObject>>;
  /** The items of a turn; null: those of the session. */
  items(
    caller: AgentCaller,
    sessionId: string,
    turnId: string | null,
    query: URLSearchParams,
  ): Promise<ListPage<SessionItem>>;
  /**
   * The events of a session. What happens after the promise has resolved is not missed. The events end when the session is
   * deleted, the server stops, or the caller's signal aborts, which is not an error.
   */
  follow(
    caller: AgentCaller,
    sessionId: string,
    options: FollowOptions,
  ): Promise<AsyncIterable<StoredAgentEvent>>;
}

export interface CreateOptions {
  /** Narrows the access of the workspace for the whole session. */
  readonly access?: 'read';
}

export interface CreatedSession {
  readonly session: SessionObject;
  /** Fields without effect, by their names in the body. */
  readonly ignored: readonly string[];
  /** The first turn; null: the session was created without input. */
  readonly turnId: string | null;
  /** `follow` after this event gives all events of the first turn. */
  readonly lastEventId: string;
}

export interface UpdatedSession {
  readonly session: SessionObject;
  readonly ignored: readonly string[];
}

export interface InputOptions {
  readonly idempotencyKey?: string;
  /** Rejects with `session_busy` unless a message begins a new turn. */
  readonly onlyIdle?: boolean;
  /** Nothing happens unless this turn is the one that has not ended. */
  readonly onlyTurn?: string;
}

export interface PostedInput {
  /** The turn that the messages began or were added to; null: there were none, or they were posted before. */
  readonly turnId: string | null;
  /** `follow` after this event gives all events of a turn that the messages began. */
  readonly lastEventId: string;
}

/** The place in front of the first event of a session. */
export const BEGINNING = Symbol('beginning');

export interface FollowOptions {
  /**
   * The id of the last event that is known. Null: the first event is the present state of the session, and those that happen
   * from now on follow.
   */
  readonly after: string | typeof BEGINNING | null;
  /** Ends after the state event that follows the end of the turn with this id; null: of the first one that ends. */
  readonly untilTurn?: string | null;
}

export interface ListPage<Entry> {
  readonly object: 'list';
  readonly data: readonly Entry[];
  readonly first_id: string | null;
  readonly last_id: string | null;
  readonly has_more: boolean;
}

/** The saved agents. */
export interface SavedAgents {
  create(caller: AgentCaller, body: unknown): Promise<WrittenAgent>;
  retrieve(caller: AgentCaller, agentId: string): Promise<AgentObject>;
  list(caller: AgentCaller, query: URLSearchParams): Promise<ListPage<AgentObject>>;
  update(caller: AgentCaller, agentId: string, body: unknown): Promise<WrittenAgent>;
  delete(caller: AgentCaller, agentId: string): Promise<void>;
}

export interface WrittenAgent {
  readonly agent: AgentObject;
  /** Fields without effect, by their names in the body. */
  readonly ignored: readonly string[];
}

import type { Store } from '../../../store/store.ts';

/** What is stored of agents: a store with the parts of this feature. The rules of `Store` hold. */
export interface AgentStore extends Store {
  readonly savedAgents: SavedAgentStore;
  readonly agentSessions: AgentSessionStore;
  readonly agentEvents: AgentEventStore;
  readonly agentApprovals: AgentApprovalStore;
}

/** A part of a list, in the order that is asked for. */
export interface AgentPage {
  /** The id of the entry before it; null: it is the first part. */
  readonly after: string | null;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
}

export interface SavedAgentRow {
  readonly id: string;
  /** Milliseconds since the Unix epoch, like all times here. */
  readonly createdAt: number;
  readonly body: string;
}

export interface SavedAgentStore {
  add(row: SavedAgentRow & { readonly owner: string; readonly expiresAt: number }): Promise<void>;
  /** Keeps it at least until `expiresAt`. */
  find(owner: string, id: string, expiresAt: number): Promise<SavedAgentRow | null>;
  /** Null: `after` is unknown. */
  list(owner: string, page: AgentPage): Promise<readonly SavedAgentRow[] | null>;
  /** Changes it unless its body is another one by now. */
  update(
    owner: string,
    id: string,
    to: { readonly from: string; readonly body: string; readonly expiresAt: number },
  ): Promise<boolean>;
  delete(owner: string, id: string): Promise<boolean>;
}

/**
 * `idle`: it waits for input. `queued`: its turn has not begun. `ready`: its turn goes on when there is a place. `running`: an
 * instance runs its turn. `waiting`: its turn waits for the client. `failed`: it cannot go on.
 */
export type SessionPhase = 'idle' | 'queued' | 'ready' | 'running' | 'waiting' | 'failed';

/** An instance that runs a turn raises `beat` again and again: if it does not, it is dead. */
export interface AgentLease {
  readonly instance: string;
  readonly beat: number;
}

export interface SeenAgentLease extends AgentLease {
  readonly id: string;
}

export interface OwnedSession {
  readonly id: string;
  readonly owner: string;
}

/** A session. Its parts are texts that only the caller reads. */
export interface AgentSessionRow extends OwnedSession {
  readonly agentId: string;
  /** Empty: it has none. */
  readonly workspace: string;
  readonly phase: SessionPhase;
  /** Raised by each change: a change names the one that it is made from. */
  readonly rev: number;
  /** The number of the next event, from 1. */
  readonly nextEvent: number;
  /** The place of the next item. */
  readonly nextItem: number;
  readonly createdAt: number;
  readonly lastActiveAt: number;
  /** Since when it waits for a place. */
  readonly queuedAt: number | null;
  /** Until when it waits for its client. */
  readonly deadlineAt: number | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** What its client has chosen. */
  readonly settings: string;
  /** What has become of it. */
  readonly state: string;
}

export interface SessionTurnRow {
  readonly id: string;
  /** In the order of the turns. */
  readonly pos: number;
  readonly body: string;
}

export interface SessionItemRow {
  readonly id: string;
  /** In the order in which they began. */
  readonly pos: number;
  readonly turnId: string;
  /** As clients see it; null: they do not; absent: as it is stored. */
  readonly body?: string | null;
  /** The items that the model gets of it; null: none; absent: as they are stored. */
  readonly raw?: string | null;
}

/** What is written together with a change. */
export interface SessionWrites {
  /** The texts of new events. */
  readonly events: readonly string[];
  /** New ones, and those that are written over. */
  readonly turns: readonly SessionTurnRow[];
  readonly items: readonly SessionItemRow[];
  /** At least the one after the largest place in `items`. */
  readonly nextItem: number;
  /** Of the new events. */
  readonly eventsExpireAt: number;
}

export interface SessionChange extends SessionWrites {
  readonly phase: SessionPhase;
  readonly queuedAt: number | null;
  readonly deadlineAt: number | null;
  readonly lastActiveAt: number;
  readonly expiresAt: number;
  readonly state: string;
  readonly settings: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** When all events so far expire; null: they stay as they are. */
  readonly expireEventsAt: number | null;
  /** The key of the request that makes the change; null: it has none. */
  readonly inputKey: InputKey | null;
  /** Room for turns that wait for a place; null: it is not asked. */
  readonly room: QueueRoom | null;
}

/** A request that is sent again with the same key must not be made twice. */
export interface InputKey {
  readonly key: string;
  /** Tells whether it is the same request. */
  readonly body: string;
  readonly expiresAt: number;
}

export interface QueueRoom {
  /** Turns that may wait. */
  readonly maxQueued: number;
  /** Turns that may run. */
  readonly runs: number;
}

/** `conflict`: it was changed in between. `full`: too many turns wait for a place. `gone`: it is unknown. */
export type SessionRefusal = 'conflict' | 'full' | 'gone';

export interface AgentSessionStore {
  /** `limit`: the owner has too many sessions. */
  create(
    row: AgentSessionRow,
    change: SessionChange,
    maxSessions: number,
  ): Promise<AgentSessionRow | 'full' | 'limit'>;
  find(owner: string, id: string): Promise<AgentSessionRow | null>;
  list(
    owner: string,
    page: AgentPage & {
      readonly agentId: string | null;
      /** All of these pairs. */
      readonly metadata: Readonly<Record<string, string>>;
    },
  ): Promise<readonly AgentSessionRow[] | null>;
  /** Changes a session unless `rev` is not its number any more. A phase other than `running` ends its lease. */
  change(
    owner: string,
    id: string,
    rev: number,
    change: SessionChange,
  ): Promise<AgentSessionRow | SessionRefusal>;
  /**
   * Adds to a session that this instance runs, whose next event has the number `first`. False: it does not run it any more.
   * Safe to send again.
   */
  append(
    owner: string,
    id: string,
    at: { readonly instance: string; readonly first: number },
    writes: SessionWrites,
  ): Promise<boolean>;
  /** Deletes it with all that belongs to it. */
  delete(owner: string, id: string, rev: number): Promise<'deleted' | 'conflict'>;
  /** What a request with this key had as its body; null: there was none. */
  inputOf(owner: string, id: string, key: string): Promise<string | null>;
  /** The names of the workspaces for which turns wait. */
  queues(): Promise<readonly string[]>;
  /** Takes the turn that has waited longest for a workspace, if fewer than `runs` run in it. */
  claim(workspace: string, lease: AgentLease, runs: number): Promise<AgentSessionRow | null>;
  /** Keeps the sessions that this instance runs. Returns those of them that it does not run any more. */
  renew(lease: AgentLease, ids: readonly string[]): Promise<readonly string[]>;
  leases(limit: number): Promise<readonly SeenAgentLease[]>;
  /** Takes over those of these sessions whose lease is still the same. */
  take(lease: AgentLease, lost: readonly SeenAgentLease[]): Promise<readonly AgentSessionRow[]>;
  /** Sessions that have waited too long for their client. */
  overdue(limit: number): Promise<readonly OwnedSession[]>;
  turn(owner: string, sessionId: string, turnId: string): Promise<SessionTurnRow | null>;
  turns(owner: string, sessionId: string, page: AgentPage): Promise<readonly SessionTurnRow[] | null>;
  /** Those that clients see. `turnId` null: of all turns. */
  items(
    owner: string,
    sessionId: string,
    turnId: string | null,
    page: AgentPage,
  ): Promise<readonly SessionItemRow[] | null>;
  /** All of them from a place on, without what clients see: at least one, and then until `maxChars` is reached. */
  history(
    owner: string,
    sessionId: string,
    from: number,
    maxChars: number,
  ): Promise<readonly SessionItemRow[]>;
}

/** Some consecutive events of a session. */
export interface AgentEventBatch {
  readonly first: number;
  readonly events: readonly string[];
}

export interface AgentEventStore {
  /** The batches with events after this number, in their order: at least one, and then until `maxChars` is reached. */
  after(
    owner: string,
    sessionId: string,
    number: number,
    maxChars: number,
  ): Promise<readonly AgentEventBatch[]>;
}

export interface AgentApprovalStore {
  /** Uses an approval up. False: it was used before. Kept until `expiresAt`. */
  useApproval(owner: string, id: string, expiresAt: number): Promise<boolean>;
  /** It can be used again: what it approved has not begun. */
  giveBackApproval(owner: string, id: string): Promise<void>;
}

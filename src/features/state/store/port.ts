import type { Store } from '../../../store/store.ts';

/**
 * What is stored of responses, conversations and chat completions: a store with the parts of this feature. The rules of
 * `Store` hold: `turns.commit` and `events.append` are safe to send again with the same arguments.
 */
export interface StateStore extends Store {
  readonly turns: TurnStore;
  readonly responses: ResponseStore;
  readonly conversations: ConversationStore;
  readonly events: EventStore;
  readonly chats: ChatStore;
  readonly segments: SegmentStore;
}

/** A place in a segment. A conversation up to there consists of the turns of the segment up to `pos`, and of what the segment was forked from. */
export interface Position {
  readonly segment: string;
  /** From 0. */
  readonly pos: number;
}

/** What one request added to a conversation. */
export interface TurnRow extends Position {
  /** Names the turn in the ids of its input items: 32 hexadecimal digits. */
  readonly key: string;
  /** Null: items that were added without a response. */
  readonly responseId: string | null;
  readonly body: string;
}

/** A turn to be written. */
export interface NewTurn {
  readonly key: string;
  readonly body: string;
  /** The ids of its output items, by which later requests may refer to them. */
  readonly itemIds: readonly string[];
}

/** Where a turn is written. */
export type Onto =
  /** It begins a conversation. `cacheKey` is the key of the conversation for the prompt cache. */
  | { readonly kind: 'new'; readonly segment: string; readonly cacheKey: string }
  /**
   * After this turn. If that has a follower already, or belongs to a conversation, which only `conversation` adds to,
   * the turn begins the segment `fork`, which copies nothing.
   */
  | { readonly kind: 'after'; readonly at: Position; readonly fork: string; readonly cacheKey: string }
  /** At the end of a conversation, whatever that is by now. `tip`: what it probably is, which saves a round trip. */
  | { readonly kind: 'conversation'; readonly id: string; readonly tip?: number };

export type ResponseStatus = 'queued' | 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';

export interface ResponseRow {
  readonly id: string;
  readonly owner: string;
  readonly status: ResponseStatus;
  readonly isBackground: boolean;
  /** Null until it has ended. */
  readonly position: Position | null;
  /** Milliseconds since the Unix epoch, like all times here. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly body: string;
}

export interface TurnStore {
  /**
   * Writes a turn and its response. Null: the response was a background one, and has another status by now (it was
   * cancelled, or given up as lost), or what the turn follows was deleted. Then nothing is written.
   */
  commit(write: {
    readonly owner: string;
    readonly onto: Onto;
    readonly turn: NewTurn;
    /** Null: items without a response. */
    readonly response: Omit<ResponseRow, 'owner' | 'position'> | null;
    /** The segment lives at least as long. */
    readonly expiresAt: number;
  }): Promise<Position | null>;
  /** How long all turns up to this place are together, in characters of their bodies; null if it is unknown. */
  size(owner: string, at: Position): Promise<number | null>;
  /** All turns up to this place, the oldest first; empty if it is unknown. */
  upTo(owner: string, at: Position): Promise<readonly TurnRow[]>;
  /** The key of the conversation for the prompt cache. */
  cacheKey(owner: string, segment: string): Promise<string | null>;
  /** Turns of one segment, without those it was forked from. */
  page(
    owner: string,
    segment: string,
    page: {
      /** Excluded; null: from the first, or the last. */
      readonly from: number | null;
      readonly order: 'asc' | 'desc';
      readonly limit: number;
      /** At least one turn, and then until so many characters are reached: fewer than `limit` need not be the last. */
      readonly maxChars: number;
    },
  ): Promise<readonly TurnRow[]>;
  byKey(owner: string, key: string): Promise<TurnRow | null>;
  /** Those of these turns that are known: at least one, and then until `maxChars` is reached. Ask again for the others. */
  byKeys(owner: string, keys: readonly string[], maxChars: number): Promise<readonly TurnRow[]>;
  /**
   * The turns with these output items, by the ids of the items. The newest turn if several have the id. At least one turn,
   * and then until `maxChars` is reached: ask again for the others.
   */
  byItems(owner: string, itemIds: readonly string[], maxChars: number): Promise<ReadonlyMap<string, TurnRow>>;
  /** Replaces the body of a turn, unless it was changed in the meantime. `size` does not change. */
  rewrite(owner: string, turn: TurnRow, body: string): Promise<boolean>;
}

/**
 * An instance that runs a background response. It raises `beat` again and again: if it does not, it is dead. So no clocks
 * of different machines have to be compared.
 */
export interface Lease {
  readonly instance: string;
  readonly beat: number;
}

/** The lease of a response when it was looked at. */
export interface SeenLease extends Lease {
  readonly id: string;
}

export interface ResponseStore {
  find(owner: string, id: string): Promise<ResponseRow | null>;
  /** The same without its body. */
  at(owner: string, id: string): Promise<Pick<ResponseRow, 'status' | 'position'> | null>;
  /** A background response that was just accepted. */
  add(row: Omit<ResponseRow, 'position'>, lease: Lease): Promise<void>;
  /**
   * Changes status and body of a response that has not ended. Null: it has ended, or is unknown. Wakes the watchers.
   * `expiresAt`: absent keeps it.
   */
  change(
    owner: string,
    id: string,
    to: { readonly status: ResponseStatus; readonly body?: string; readonly expiresAt?: number },
  ): Promise<ResponseRow | null>;
  /**
   * Keeps the responses that this instance runs. Returns those of them that do not run any more, because they were
   * cancelled or taken over.
   */
  renew(lease: Lease, ids: readonly string[]): Promise<readonly string[]>;
  /** The leases of all running responses of all owners, at most so many. */
  leases(limit: number): Promise<readonly SeenLease[]>;
  /**
   * Takes over those of these responses whose lease is still the same: they have this lease now. One that cannot be read
   * fails instead.
   */
  take(lease: Lease, lost: readonly SeenLease[]): Promise<readonly ResponseRow[]>;
  /** Also removes its turn, unless another response or a conversation needs it. False: unknown. */
  delete(owner: string, id: string): Promise<boolean>;
}

export interface ConversationRow {
  readonly id: string;
  readonly createdAt: number;
  readonly body: string;
  /** The position of its last turn; -1: it has none. */
  readonly tip: number;
  readonly cacheKey: string;
}

/** A conversation is a segment that has a name and never was forked from another. */
export interface ConversationStore {
  create(row: {
    readonly id: string;
    readonly owner: string;
    readonly createdAt: number;
    readonly expiresAt: number;
    readonly body: string;
    readonly cacheKey: string;
    readonly turn: NewTurn | null;
  }): Promise<void>;
  find(owner: string, id: string): Promise<ConversationRow | null>;
  update(
    owner: string,
    id: string,
    to: { readonly body: string; readonly expiresAt: number },
  ): Promise<ConversationRow | null>;
  /** Its turns stay for the responses that have them. False: unknown. */
  delete(owner: string, id: string): Promise<boolean>;
  /**
   * Takes the lock, or keeps it if `holder` has it. Null: unknown conversation. False: another holder has it. A lock that
   * lasts a minute longer than this one would counts as lost: the clock jumped, or is another one.
   */
  lock(
    owner: string,
    id: string,
    lock: { readonly holder: string; readonly until: number },
  ): Promise<ConversationRow | false | null>;
  unlock(owner: string, id: string, holder: string): Promise<void>;
}

/** Some consecutive events of a stream, as text. */
export interface EventBatch {
  /** The number of the first event, and of the last. */
  readonly first: number;
  readonly last: number;
  readonly body: string;
}

/** A whole stream. */
export interface EventCopy {
  readonly owner: string;
  readonly responseId: string;
  /** How many events it has. */
  readonly count: number;
  readonly body: string;
  readonly expiresAt: number;
}

export interface EventStore {
  /** Keeps whole streams, all of them or none. Wakes the watchers. A power failure may undo it. */
  copy(copies: readonly EventCopy[]): Promise<void>;
  /** Wakes the watchers. */
  append(owner: string, responseId: string, batch: EventBatch, expiresAt: number): Promise<void>;
  /** The batches with events after this number, in their order: at least one, and then until `maxChars` is reached. */
  after(responseId: string, after: number, maxChars: number): Promise<readonly EventBatch[]>;
  /** Sets the time for all events of the response. */
  expire(responseId: string, expiresAt: number): Promise<void>;
}

export interface ChatRow {
  readonly id: string;
  readonly model: string;
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
  /** The answer. */
  readonly body: string;
  /** The messages of the request. */
  readonly messages: string;
}

export interface ChatStore {
  add(row: ChatRow & { readonly owner: string; readonly expiresAt: number }): Promise<void>;
  find(owner: string, id: string): Promise<ChatRow | null>;
  list(
    owner: string,
    page: {
      readonly model: string | null;
      /** All of these pairs. */
      readonly metadata: Readonly<Record<string, string>>;
      /** Excluded; an unknown id has nothing after it. */
      readonly after: string | null;
      readonly order: 'asc' | 'desc';
      readonly limit: number;
    },
  ): Promise<readonly Omit<ChatRow, 'messages'>[]>;
  update(owner: string, id: string, to: Pick<ChatRow, 'metadata' | 'body'>): Promise<ChatRow | null>;
  delete(owner: string, id: string): Promise<boolean>;
}

/** A conversation with a name, or a chain of responses. Times are milliseconds since the Unix epoch. */
export interface SegmentRow {
  readonly id: string;
  readonly owner: string;
  readonly kind: 'chain' | 'conversation';
  readonly createdAt: number;
  /** When something was written to it. */
  readonly updatedAt: number;
  readonly expiresAt: number;
  /** Turns of its own, without those of the segment that it was forked from. */
  readonly turns: number;
  /** The last turn of another segment that it continues; null: it begins by itself. */
  readonly from: { readonly segment: string; readonly pos: number } | null;
}

/** A turn of a segment, or of one that it was forked from. */
export interface SegmentTurn {
  readonly key: string;
  /** Null: items that were added without a response. */
  readonly responseId: string | null;
  /** Null: it cannot be read, such as because its key is not in PROXY_STORE_KEY any more. */
  readonly body: string | null;
}

export interface SegmentTurns {
  readonly turns: readonly SegmentTurn[];
  readonly hasMore: boolean;
}

/** What one step of a deletion did. */
export interface SegmentCut {
  /** False: ask again. */
  readonly isDone: boolean;
  /** The turns after `keptTip` up to `tip` are gone; -1: none is kept. */
  readonly tip: number;
  readonly keptTip: number;
  /** The ids of the output items that are gone. */
  readonly itemIds: readonly string[];
}

/** The conversations and chains of all owners, for operators. Unlike in the other parts, an id suffices. */
export interface SegmentStore {
  /** The newest first. Null: `after` is unknown. */
  list(page: {
    /** Null: of all owners. */
    readonly owner: string | null;
    /** Excluded; null: from the newest. */
    readonly after: string | null;
    readonly limit: number;
  }): Promise<readonly SegmentRow[] | null>;
  /** `body` is that of a conversation; null: it has none, or it cannot be read. */
  find(id: string): Promise<(SegmentRow & { readonly body: string | null }) | null>;
  /** Its turns, and before them those that it continues. Null: `after` is not one of them. */
  turns(
    id: string,
    page: {
      /** The key of a turn, excluded; null: from the first, or the last. */
      readonly after: string | null;
      readonly order: 'asc' | 'desc';
      readonly limit: number;
      /** At least one turn, and then until so many characters are reached. */
      readonly maxChars: number;
    },
  ): Promise<SegmentTurns | null>;
  /**
   * Deletes at most `limit` responses and turns, from the end. Turns that other segments continue are kept, and a
   * conversation has no name any more. Null: unknown.
   */
  delete(id: string, limit: number): Promise<SegmentCut | null>;
}

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

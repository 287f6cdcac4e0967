/** What requests used, added up. The recorder and the database have one column for each. */
export interface UsageCounts {
  readonly requests: number;
  /** Rejected for what the client sent. */
  readonly clientErrors: number;
  /** Rejected by a limit: of the key, of this server or of the backend. */
  readonly limitErrors: number;
  readonly upstreamErrors: number;
  readonly serverErrors: number;
  /** The client disconnected, or cancelled the response. */
  readonly cancelled: number;
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Of the image model; not included in the other tokens. */
  readonly imageInputTokens: number;
  readonly imageOutputTokens: number;
  /** Of the requests that were answered. */
  readonly durationMs: number;
}

/** What a usage row is about. */
export interface UsageLabels {
  /** The start of the hour in which the requests ended. */
  readonly hour: number;
  readonly keyId: string;
  readonly model: string;
  readonly client: string;
}

/** The usage of one process. Several rows may have the same labels; their sum counts. */
export interface UsageRow extends UsageLabels, UsageCounts {
  readonly id: string;
  /** Encoded `LogHistogram`s of milliseconds. */
  readonly firstEvents: string;
  readonly durations: string;
  readonly expiresAt: number;
}

/** Which usage is asked for. Hours from `from` up to `to`, which is excluded. */
export interface UsageRange {
  readonly from: number;
  readonly to: number;
  /** In milliseconds, a multiple of an hour; counted from the Unix epoch. */
  readonly width: number;
  /** Null: of all keys; at most 100. */
  readonly keyIds: readonly string[] | null;
}

export type UsageGroup = 'keyId' | 'model' | 'client';

/** A label is null unless it was grouped by. */
export interface UsageSum extends UsageCounts {
  /** The start of its bucket. */
  readonly start: number;
  readonly keyId: string | null;
  readonly model: string | null;
  readonly client: string | null;
}

export interface UsageStore {
  /**
   * Writes totals. A row with the same id is replaced if it has fewer requests, so that neither repeating a write nor a
   * late one does harm.
   */
  put(rows: readonly UsageRow[]): Promise<void>;
  /** The sums of each bucket and group, in the order of the buckets; at most `limit`. Buckets without usage are missing. */
  sums(
    range: UsageRange & {
      /** Null: of all models; at most 100. */
      readonly models: readonly string[] | null;
      readonly by: readonly UsageGroup[];
      readonly limit: number;
    },
  ): Promise<readonly UsageSum[]>;
  /** The histograms of each bucket that has any. */
  latencies(range: UsageRange): Promise<readonly UsageLatency[]>;
}

export interface UsageLatency {
  readonly start: number;
  readonly firstEvents: string;
  readonly durations: string;
}

/** Who answers, and on whose account. */
export interface Account {
  readonly backend: 'chatgpt' | 'api-key' | 'provider' | 'demo' | 'none';
  /** The plan of a ChatGPT account; null where there is none, or where it could not be asked. */
  readonly plan: string | null;
  /** False: the account's own service did not say so; the login on this machine is all that is known. */
  readonly isConfirmed: boolean;
}

/** What an account may still use. Null stands for what the backend did not say. */
export interface RateLimits {
  readonly plan: string | null;
  /** Whether ordinary use is allowed now. */
  readonly isAllowed: boolean | null;
  /** One for each thing that is metered; the first is that of codex itself. */
  readonly limits: readonly RateLimit[];
  /** How many times a limit may be reset ahead of time. */
  readonly resetCredits: number | null;
}

export interface RateLimit {
  readonly id: string | null;
  readonly name: string | null;
  readonly primary: LimitWindow | null;
  readonly secondary: LimitWindow | null;
  readonly credits: Credits | null;
  /** Which limit is reached; null: none. */
  readonly reached: string | null;
}

export interface LimitWindow {
  readonly usedPercent: number;
  readonly minutes: number | null;
  /** Seconds since the Unix epoch. */
  readonly resetsAt: number | null;
}

export interface Credits {
  readonly hasCredits: boolean;
  readonly isUnlimited: boolean;
  readonly balance: string | null;
}

/** What somebody thinks of an answer, for the makers of codex. */
export interface Feedback {
  readonly classification: string;
  readonly reason: string | null;
}

/** What an account has used. */
export interface TokenTotals {
  readonly lifetime: number | null;
  readonly peakDay: number | null;
  readonly longestTurnSeconds: number | null;
  readonly currentStreakDays: number | null;
  readonly longestStreakDays: number | null;
  /** Null: the backend does not tell. */
  readonly days: readonly { readonly date: string; readonly tokens: number }[] | null;
}

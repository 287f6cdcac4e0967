/** The backend and its account. */
export interface Account {
  readonly backend: 'chatgpt' | 'api-key' | 'provider' | 'demo' | 'none';
  /** The plan of a ChatGPT account; null if unknown or another kind of account. */
  readonly plan: string | null;
  /** False if the account was only read from the local login and not confirmed by its service. */
  readonly isConfirmed: boolean;
}

/** The remaining usage of an account. Null means that the backend did not report a value. */
export interface RateLimits {
  readonly plan: string | null;
  /** Whether ordinary use is allowed now. */
  readonly isAllowed: boolean | null;
  /** One limit per metered feature; the first is that of codex itself. */
  readonly limits: readonly RateLimit[];
  /** Number of early resets that are left. */
  readonly resetCredits: number | null;
}

export interface RateLimit {
  readonly id: string | null;
  readonly name: string | null;
  readonly primary: LimitWindow | null;
  readonly secondary: LimitWindow | null;
  readonly credits: Credits | null;
  /** The limit that is reached, or null. */
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

/** A user's feedback about an answer, for OpenAI. */
export interface Feedback {
  readonly classification: string;
  readonly reason: string | null;
}

/** The past usage of an account. */
export interface TokenTotals {
  readonly lifetime: number | null;
  readonly peakDay: number | null;
  readonly longestTurnSeconds: number | null;
  readonly currentStreakDays: number | null;
  readonly longestStreakDays: number | null;
  /** Null if the backend does not report it. */
  readonly days: readonly { readonly date: string; readonly tokens: number }[] | null;
}

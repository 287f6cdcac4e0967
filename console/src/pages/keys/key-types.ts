import type { Scope } from '../../session.ts';

export const UNITS = ['tokens', 'requests', 'cost'] as const;
export const WINDOWS = ['minute', '5h', 'day', '7d', 'month'] as const;
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const;

export interface KeyLimit {
  readonly unit: (typeof UNITS)[number];
  readonly window: (typeof WINDOWS)[number];
  readonly max: number;
  /** A pattern; null: all models together. */
  readonly model: string | null;
}

/** `GET /v1/codex/keys/{id}`. Times are seconds since 1970. */
export interface Key {
  readonly id: string;
  readonly name: string;
  readonly note: string;
  /** The ends of the secret. */
  readonly hint: string;
  readonly scopes: readonly Scope[];
  readonly models: readonly string[];
  /** Patterns; empty: none. */
  readonly workspaces: readonly string[];
  readonly effort: string | null;
  readonly addresses: readonly string[];
  readonly concurrency: number | null;
  readonly limits: readonly KeyLimit[];
  /** 0: no limit; null: that of the server. */
  readonly storage_mb: number | null;
  readonly status: 'active' | 'expired' | 'paused' | 'revoked';
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly last_used_at: number | null;
}

/** The answer to create and rotate: the only one with the secret. */
export interface KeyWithSecret extends Key {
  readonly key: string;
}

/** An entry of `GET /v1/codex/keys/{id}/limits`. */
export interface LimitStatus extends KeyLimit {
  readonly used: number;
  /** Null: the window begins with the next use. */
  readonly resets_at: number | null;
}

export interface KeyList {
  readonly data: readonly Key[];
  readonly has_more: boolean;
}

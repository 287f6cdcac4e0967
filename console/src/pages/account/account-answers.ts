/** `GET /v1/codex/account`. */
export interface Account {
  readonly backend: 'chatgpt' | 'demo' | 'none' | 'openai' | 'provider';
  readonly plan: string | null;
  readonly sign_in: {
    readonly state: 'needed' | 'not_needed' | 'signed_in';
    readonly confirmed: boolean;
  };
}

/** A row of `GET /v1/codex/models`. */
export interface Model {
  readonly id: string;
  readonly display_name: string | null;
  readonly is_default: boolean;
  readonly hidden: boolean;
  readonly reasoning_efforts: readonly string[] | null;
  readonly context_window: number | null;
}

export type SignInMethod = 'browser' | 'device';

/** A row of `GET /v1/codex/login`. */
export interface SignIn {
  readonly id: string;
  readonly status: 'cancelled' | 'expired' | 'failed' | 'pending' | 'succeeded';
  readonly method: SignInMethod;
  readonly verification_url: string | null;
  readonly user_code: string | null;
  readonly auth_url: string | null;
  readonly error: string | null;
  readonly expires_at: number;
}

/** `GET /v1/codex/login`. */
export interface SignIns {
  readonly data: readonly SignIn[];
  readonly methods: readonly SignInMethod[];
  /** The setting that takes precedence over the login. */
  readonly overridden_by: string | null;
}

/** `device`: the user enters a code on a page, in any browser. `browser`: a browser on the machine of the server. */
export type SignInMethod = 'device' | 'browser';

export type SignInStatus = 'pending' | 'succeeded' | 'failed' | 'cancelled' | 'expired';

/** A sign-in to the account of the backend that needs no terminal. It never contains a token. */
export interface SignInSession {
  readonly id: string;
  readonly method: SignInMethod;
  readonly status: SignInStatus;
  /** The page where the user enters `userCode`; null if the method is `browser`. */
  readonly verificationUrl: string | null;
  readonly userCode: string | null;
  /** The page to open on the machine of the server; null if the method is `device`. */
  readonly authUrl: string | null;
  /** Why it failed, as a sentence. */
  readonly error: string | null;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Signs in and out without a terminal. At most one sign-in is pending. */
export interface SignIns {
  /** Resolves when the user can begin. Rejects with `sign_in_pending` or `sign_in_failed`. */
  start(method: SignInMethod): Promise<SignInSession>;
  /** The last ones, the newest first. */
  list(): readonly SignInSession[];
  /** Throws `unknown_sign_in`. */
  find(id: string): SignInSession;
  /** Has no effect on one that has ended. Throws `unknown_sign_in`. */
  cancel(id: string): SignInSession;
  /** Revokes the login at its issuer, if that can be reached, and removes it. Rejects with `sign_out_failed`. */
  signOut(): Promise<void>;
}

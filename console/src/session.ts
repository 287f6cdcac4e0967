import { createContext } from 'preact';
import { useContext } from 'preact/hooks';

export type Scope = 'admin' | 'infer' | 'read';

/** Who is signed in: the key of the session. */
export interface Session {
  readonly key_id: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  /** Seconds since 1970. */
  readonly expires_at: number;
}

/** `GET /console/session`. */
export interface SessionAnswer {
  readonly object: 'codex.console_session';
  /** Absent: not signed in. */
  readonly session: Session | null;
  readonly version: string;
}

/** Whether a session may use pages and routes of this scope: `admin` also reads everything. */
export const hasScope = ({ scopes }: Pick<Session, 'scopes'>, scope: Scope): boolean =>
  scopes.includes(scope) || (scope === 'read' && scopes.includes('admin'));

export const SessionContext = createContext<Session | null>(null);

/** The session of the page; pages are shown only to people who are signed in. */
export const useSession = (): Session => {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('This component is used outside of a session.');
  return session;
};

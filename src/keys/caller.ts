/**
 * What a key may do. `infer`: run turns, and read what belongs to the key. `read`: read everything of this server, and
 * change nothing. `admin`: change it too.
 */
export type Scope = 'infer' | 'read' | 'admin';

/** Who sent a request. */
export interface Caller {
  /** Identifies the key without revealing it. What is stored for a request belongs to this id. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
}

/** What a key from the configuration may do, and the key that the first start makes. */
export const ALL_SCOPES: ReadonlySet<Scope> = new Set<Scope>(['infer', 'read', 'admin']);

/** Whether the caller has one of these scopes. `admin` includes `read`. */
export const hasScope = ({ scopes }: Caller, wanted: readonly Scope[]): boolean =>
  wanted.some((scope) => scopes.has(scope) || (scope === 'read' && scopes.has('admin')));

import { gatewayError } from '../../canonical/failure/failure.ts';

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

/** What most routes need. */
export const INFER: readonly Scope[] = ['infer'];

/** For what both clients and dashboards need, such as the models. */
export const INFER_OR_READ: readonly Scope[] = ['infer', 'read'];

/** Throws unless the caller has one of these scopes. */
export const requireScope = (caller: Caller, scopes: readonly Scope[]): void => {
  if (hasScope(caller, scopes)) return;
  throw gatewayError('missing_scope', {
    message: `You have insufficient permissions for this operation. Missing scopes: ${scopes.join(' or ')}.`,
  });
};

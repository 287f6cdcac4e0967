import { gatewayError } from '../../canonical/failure/failure.ts';
import { hasScope, type Caller, type Scope } from '../../keys/caller.ts';

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

import { describe, expect, it } from 'vitest';

import { failureOf } from '../../canonical/failure/failure.ts';
import { ALL_SCOPES, requireScope, type Scope } from './scopes.ts';

const caller = (...scopes: readonly Scope[]) => ({ keyId: 'key_1', scopes: new Set(scopes) });

describe('requireScope', () => {
  it.each<[readonly Scope[], readonly Scope[]]>([
    [['infer'], ['infer']],
    [['read'], ['infer', 'read']],
    [['admin'], ['read']],
    [[...ALL_SCOPES], ['admin']],
  ])('accepts %j for %j', (scopes, wanted) => {
    expect(() => requireScope(caller(...scopes), wanted)).not.toThrow();
  });

  it.each<[readonly Scope[], readonly Scope[], string]>([
    [['admin'], ['infer'], 'infer'],
    [['read'], ['admin'], 'admin'],
    [['infer'], ['read', 'admin'], 'read or admin'],
    [[], ['infer'], 'infer'],
  ])('refuses %j for %j', (scopes, wanted, named) => {
    let refused: unknown = null;
    try {
      requireScope(caller(...scopes), wanted);
    } catch (error) {
      refused = failureOf(error);
    }
    expect(refused).toMatchObject({
      kind: 'missing_scope',
      status: 403,
      message: `You have insufficient permissions for this operation. Missing scopes: ${named}.`,
    });
  });
});

import { feature, type FeatureTables } from '../../compose/feature.ts';
import { SIGN_IN_FAILURES } from './failures.ts';

export const SIGN_IN_TABLES = {
  failures: SIGN_IN_FAILURES,
  routes: {
    'POST /v1/codex/login': {
      after: 'GET /v1/codex/key-proof',
      access: 'key',
      scopes: ['admin'],
      about:
        'Starts a sign-in without a terminal: `{"method": "device"}`, or `"browser"` on the machine of the server. See [codex methods](codex-methods.md#signing-in-and-out).',
    },
    'GET /v1/codex/login': {
      access: 'key',
      scopes: ['read'],
      about: 'The last sign-ins, and which methods the caller can use.',
    },
    'GET /v1/codex/login/:id': {
      access: 'key',
      scopes: ['read'],
      about: 'One of them: whether it is pending, or how it ended.',
    },
    'DELETE /v1/codex/login/:id': { access: 'key', scopes: ['admin'], about: 'Cancels a pending one.' },
    'POST /v1/codex/logout': {
      access: 'key',
      scopes: ['admin'],
      about: 'Revokes the login and removes it from the server.',
    },
  },
} as const satisfies FeatureTables;

/** Signing in to the account of the backend, and out again, without a terminal. */
export const webSignIn = feature('sign-in', SIGN_IN_TABLES, {
  open: async (core) => (await import('./open.ts')).openSignIn(core),
});

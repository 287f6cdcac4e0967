import { expect, it } from 'vitest';

import { projectSignIn } from './routes.ts';

const SESSION = {
  id: 'login_1',
  method: 'device',
  status: 'pending',
  verificationUrl: 'https://auth.test/device',
  userCode: 'CODE-1',
  authUrl: null,
  error: null,
  createdAt: 1_000_900,
  expiresAt: 2_000_900,
} as const;

it('shows the code of a sign-in only to callers who may start one', () => {
  const shown = {
    object: 'codex.login',
    id: 'login_1',
    status: 'pending',
    method: 'device',
    verification_url: 'https://auth.test/device',
    user_code: 'CODE-1',
    auth_url: null,
    error: null,
    created_at: 1000,
    expires_at: 2000,
    overridden_by: 'CODEX_ACCESS_TOKEN',
  };
  const overriddenBy = 'CODEX_ACCESS_TOKEN';
  expect(projectSignIn(SESSION, { overriddenBy, isAdmin: true })).toEqual(shown);
  expect(projectSignIn(SESSION, { overriddenBy, isAdmin: false })).toEqual({
    ...shown,
    verification_url: null,
    user_code: null,
  });
});

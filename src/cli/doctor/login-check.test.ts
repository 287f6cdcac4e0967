import { describe, expect, it } from 'vitest';

import type { LoginFacts } from '../../codex/login/read-login.ts';
import { judgeLogin } from './login-check.ts';

const NOW = new Date('2026-11-16T12:00:00Z');
const EARLIER = new Date('2026-11-15T08:30:00Z');
const LATER = new Date('2026-11-20T08:30:00Z');

const facts = (given: Partial<LoginFacts> = {}): LoginFacts => ({
  kind: 'chatgpt',
  accountId: 'acc-1',
  plan: 'plus',
  account: 'a***@example.com',
  expiresAt: LATER,
  canRefresh: true,
  paidUntil: null,
  ...given,
});
const WHO = 'ChatGPT, a***@example.com, plan plus';

describe('judgeLogin', () => {
  it.each<readonly [string, LoginFacts, string, string]>([
    ['valid', facts(), 'ok', `${WHO}; valid until 2026-11-20 08:30 UTC, then renewed automatically`],
    [
      'to be renewed',
      facts({ expiresAt: EARLIER }),
      'ok',
      `${WHO}; valid until 2026-11-15 08:30 UTC, renewed with the next request`,
    ],
    [
      'over',
      facts({ expiresAt: EARLIER, canRefresh: false }),
      'problem',
      `${WHO}: expired 2026-11-15 08:30 UTC and cannot be renewed`,
    ],
    ['one that ends', facts({ canRefresh: false }), 'warning', `${WHO}: cannot be renewed when it expires`],
    [
      'no longer paid for',
      facts({ paidUntil: EARLIER }),
      'warning',
      `${WHO}: paid until 2026-11-15 08:30 UTC, when it was last renewed`,
    ],
    ['without dates', facts({ expiresAt: null }), 'ok', WHO],
    ['a key', facts({ kind: 'api-key', plan: null, account: null }), 'ok', 'an API key'],
  ])('%s', (_, login, grade, says) => {
    expect(judgeLogin(login, { now: NOW, signIn: 'run it' })).toMatchObject({ grade, says });
  });
});

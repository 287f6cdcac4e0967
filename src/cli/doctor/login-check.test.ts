import { describe, expect, it } from 'vitest';

import type { LoginFacts } from '../../codex/login/read-login.ts';
import { judgeLogin, judgeToken, type TokenOwner } from './login-check.ts';

const NOW = new Date('2026-11-16T12:00:00Z');
const EARLIER = new Date('2026-11-15T08:30:00Z');
const LATER = new Date('2026-11-20T08:30:00Z');

const facts = (given: Partial<LoginFacts> = {}): LoginFacts => ({
  kind: 'chatgpt',
  accessToken: null,
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

describe('judgeToken', () => {
  const personal = facts({ accessToken: 'personal', plan: null, account: null, expiresAt: null });
  const agent = (expiresAt: Date) => facts({ accessToken: 'agent', plan: 'business', expiresAt });
  const confirmed: TokenOwner = { kind: 'confirmed', account: 'b***@example.com', plan: 'business' };
  const WHO_AGENT = 'ChatGPT access token, a***@example.com, plan business (here)';
  const FAR = new Date('2027-01-01T00:00:00Z');

  it.each<readonly [string, LoginFacts | null, TokenOwner | null, string, string]>([
    [
      'a personal one that is accepted',
      personal,
      confirmed,
      'ok',
      'ChatGPT access token, b***@example.com, plan business (here); accepted. It cannot be renewed here, and only its issuer knows when it expires',
    ],
    [
      'a personal one that is rejected',
      personal,
      { kind: 'rejected', status: 401 },
      'problem',
      'ChatGPT access token (here): rejected, because it has expired or was revoked',
    ],
    [
      'a personal one whose issuer does not answer',
      personal,
      { kind: 'unknown', why: 'auth.example does not answer in time' },
      'warning',
      'ChatGPT access token (here): could not be checked: auth.example does not answer in time',
    ],
    ['an unreadable one', null, null, 'problem', 'the access token here cannot be read'],
    [
      'one with much time left',
      agent(FAR),
      null,
      'ok',
      `${WHO_AGENT}; valid until 2027-01-01 00:00 UTC, cannot be renewed here`,
    ],
    [
      'one that ends soon',
      agent(LATER),
      null,
      'warning',
      `${WHO_AGENT}: valid until 2026-11-20 08:30 UTC, cannot be renewed here`,
    ],
    [
      'one that has expired',
      agent(EARLIER),
      null,
      'problem',
      `${WHO_AGENT}: expired 2026-11-15 08:30 UTC and cannot be renewed here`,
    ],
  ])('%s', (_, login, owner, grade, says) => {
    expect(judgeToken(login, owner, { now: NOW, place: 'here', advice: 'replace it' })).toMatchObject({
      grade,
      says,
    });
  });
});

import { describe, expect, it } from 'vitest';

import { NewestToken } from './newest-token.ts';

const of = (token: string, account = 'acc-1'): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'chatgpt-account-id': account,
  'session-id': 's',
});

describe('the newest token', () => {
  it('replaces an older one of the same account, and nothing else', () => {
    const newest = new NewestToken();
    newest.see(of('first'));
    newest.see(of('second'));
    expect(newest.applyTo(of('first'))).toEqual(of('second'));
    expect(newest.applyTo(of('second'))).toEqual(of('second'));
    expect(newest.applyTo(of('theirs', 'acc-2'))).toEqual(of('theirs', 'acc-2'));
  });

  it('stays the newest when a request with an older one arrives late', () => {
    const newest = new NewestToken();
    for (const token of ['first', 'second', 'first']) newest.see(of(token));
    expect(newest.applyTo(of('first'))).toEqual(of('second'));
  });

  it('does not exist for a backend without accounts', () => {
    const newest = new NewestToken();
    newest.see({ authorization: 'Bearer key' });
    expect(newest.applyTo({ authorization: 'Bearer other' })).toEqual({ authorization: 'Bearer other' });
    expect(newest.applyTo({})).toEqual({});
  });

  it('remembers only some of the older ones', () => {
    const newest = new NewestToken();
    for (let index = 0; index <= 40; index += 1) newest.see(of(String(index)));
    newest.see(of('39'));
    expect(newest.applyTo(of('x'))).toEqual(of('40'));
    newest.see(of('0'));
    expect(newest.applyTo(of('x'))).toEqual(of('0'));
  });
});

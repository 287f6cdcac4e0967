import { describe, expect, it } from 'vitest';

import { freshRelays, inTurn, status, type Answer, type TestRelay } from './backend.ts';

const start = freshRelays();
const TOKENS = { access_token: 'a', refresh_token: 'r' };

const startWith = (answer: Answer): Promise<TestRelay> =>
  start(answer, (url) => ({
    targets: { model: url, account: url, refresh: `${url}/token`, revoke: null },
  }));
const renew = async ({ relay }: TestRelay): Promise<string> => {
  const answer = await fetch(relay.addresses.refresh, { method: 'POST', body: '{}' });
  return `${answer.status} ${await answer.text()}`;
};
const TAKEN = `200 ${JSON.stringify(TOKENS)}`;

describe('a login that is renewed', () => {
  it('by many at once is renewed once: a refresh token is good for one time', async () => {
    const test = await startWith((response, arrival, nth) => {
      setTimeout(
        () => status(200, nth === 1 ? TOKENS : { access_token: 'another' })(response, arrival, nth),
        50,
      );
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => renew(test)));
    answers.push(await renew(test));
    expect([...new Set(answers)]).toEqual([TAKEN]);
    expect(test.backend.arrivals.map(({ url }) => url)).toEqual(['/v1/token']);
  });

  it('again and again is held back: codex does so without a pause where the clock is ahead', async () => {
    const test = await startWith(status(200, TOKENS));
    const answers: string[] = [];
    for (let count = 0; count < 300; count += 1) answers.push(await renew(test));
    expect(answers.filter((answer) => answer === TAKEN)).toHaveLength(256);
    expect(answers.at(-1)).toBe('503 {"error":"temporarily_unavailable"}');
    expect([test.backend.arrivals.length, test.noted.renewalsHeld]).toEqual([1, 44]);
  });

  it.each<readonly [string, Answer, string, string | null]>([
    ['an error', status(500, { e: 1 }), '500 {"e":1}', null],
    ['a lost answer', (response) => void response.destroy(), '502 {}', 'upstream_unreachable'],
    [
      'a page',
      status(403, '<html></html>', { 'cf-mitigated': 'challenge' }),
      '403 <html></html>',
      'upstream_blocked',
    ],
  ])('is not sent twice, because its token may be void by then: %s', async (_, answer, told, kind) => {
    const test = await startWith(inTurn(answer, status(200, TOKENS)));
    const { ticket } = test.open('t1');
    expect([await renew(test), test.backend.arrivals.length]).toEqual([told, 1]);
    expect(ticket.report.signIn?.kind ?? null).toBe(kind);
    expect(test.noted.blocked).toBe(kind === 'upstream_blocked' ? 1 : 0);
    // The next one is another, and forgets what was.
    expect([await renew(test), ticket.report.signIn]).toEqual([TAKEN, null]);
  });

  it('in vain is not tried without end', async () => {
    const test = await startWith(status(500));
    for (let count = 0; count < 20; count += 1) await renew(test);
    expect([test.backend.arrivals.length, test.noted.renewalsHeld]).toEqual([6, 14]);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { freshRelays, inTurn, status, type Answer, type TestRelay } from './backend.ts';

const start = freshRelays();
const TOKENS = { access_token: 'a', refresh_token: 'r' };

const startWith = (answer: Answer): Promise<TestRelay> =>
  start(answer, (url) => ({
    targets: { model: url, account: url, refresh: `${url}/token`, revoke: null, authApi: null },
  }));
const renew = async ({ relay }: TestRelay, token?: string): Promise<string> => {
  const body = JSON.stringify({ refresh_token: token });
  const answer = await fetch(relay.addresses.refresh, { method: 'POST', body });
  return `${answer.status} ${await answer.text()}`;
};
const TAKEN = `200 ${JSON.stringify(TOKENS)}`;

describe('a login that is renewed', () => {
  it('by many at once is renewed once: a refresh token can be used once', async () => {
    const test = await startWith((response, connectionInfo, nth) => {
      setTimeout(
        () => status(200, nth === 1 ? TOKENS : { access_token: 'another' })(response, connectionInfo, nth),
        50,
      );
    });
    const answers = await Promise.all(Array.from({ length: 20 }, () => renew(test)));
    answers.push(await renew(test));
    expect([...new Set(answers)]).toEqual([TAKEN]);
    expect(test.backend.arrivals.map(({ url }) => url)).toEqual(['/v1/token']);
  });

  it('repeatedly is throttled: codex does so without a pause if the clock is ahead', async () => {
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
    const { relayTurn } = test.open('t1');
    expect([await renew(test), test.backend.arrivals.length]).toEqual([told, 1]);
    expect(relayTurn.report.signIn?.kind ?? null).toBe(kind);
    expect(test.noted.blocked).toBe(kind === 'upstream_blocked' ? 1 : 0);
    // The next renewal clears the failure.
    expect([await renew(test), relayTurn.report.signIn]).toEqual([TAKEN, null]);
  });

  it('is shared per refresh token: that of a new sign-in is renewed separately', async () => {
    const test = await startWith((response, connectionInfo, nth) =>
      status(200, { access_token: `a${nth}`, refresh_token: `given-${nth}` })(response, connectionInfo, nth),
    );
    const given = (nth: number): string =>
      `200 ${JSON.stringify({ access_token: `a${nth}`, refresh_token: `given-${nth}` })}`;
    expect(await Promise.all(['old', 'fresh', 'old'].map((token) => renew(test, token)))).toEqual([
      given(1),
      given(2),
      given(1),
    ]);
    // Used-up tokens stay used up; one just issued is valid.
    expect([await renew(test, 'old'), await renew(test, 'given-1')]).toEqual([given(1), given(1)]);
    expect(test.backend.arrivals).toHaveLength(2);
  });

  it('is saved before an app-server gets the tokens, and not sent if another process has renewed it', async () => {
    const log: string[] = [];
    const test = await start(inTurn(status(200, TOKENS), status(401)), (url) => ({
      targets: { model: url, account: url, refresh: `${url}/token`, revoke: null, authApi: null },
      login: {
        renewed: async (token, answer) => void log.push(`${token} -> ${answer}`),
        successorOf: async (token) => {
          log.push(`successor of ${token}`);
          return token === 'replaced' || log.length > 5 ? '{"access_token":"theirs"}' : null;
        },
      },
    }));
    expect([await renew(test, 'mine'), test.backend.arrivals.length]).toEqual([TAKEN, 1]);
    expect(log).toEqual(['successor of mine', `mine -> ${JSON.stringify(TOKENS)}`]);
    const theirs = '200 {"access_token":"theirs"}';
    expect([await renew(test, 'replaced'), test.backend.arrivals.length]).toEqual([theirs, 1]);
    log.push('another server was faster');
    expect([await renew(test, 'meanwhile'), test.backend.arrivals.length]).toEqual([theirs, 2]);
  });

  it('is renewed once, though an app-server reads the new tokens while they are saved', async () => {
    const saving = Promise.withResolvers<void>();
    const saved = Promise.withResolvers<void>();
    const test = await start(status(200, TOKENS), (url) => ({
      targets: { model: url, account: url, refresh: `${url}/token`, revoke: null, authApi: null },
      login: {
        renewed: () => {
          saving.resolve();
          return saved.promise;
        },
        successorOf: async () => null,
      },
    }));
    const first = renew(test, 'mine');
    await saving.promise;
    const second = renew(test, TOKENS.refresh_token);
    // Long enough for a second renewal to be sent.
    await sleep(50);
    saved.resolve();
    expect(await Promise.all([first, second])).toEqual([TAKEN, TAKEN]);
    expect(test.backend.arrivals).toHaveLength(1);
  });

  it('is not retried without end', async () => {
    const test = await startWith(status(500));
    for (let count = 0; count < 20; count += 1) await renew(test);
    expect([test.backend.arrivals.length, test.noted.renewalsHeld]).toEqual([6, 14]);
  });
});

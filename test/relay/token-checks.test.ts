import { expect, it } from 'vitest';

import { freshRelays, inTurn, status, type Answer, type TestRelay } from './backend.ts';

const start = freshRelays();
const OWNER = { chatgpt_account_id: 'acc-1', chatgpt_plan_type: 'business' };
const CONFIRMED = `200 ${JSON.stringify(OWNER)}`;
const LATER_MS = 6 * 60_000;

interface Checked extends TestRelay {
  pass(ms: number): void;
}

const startWith = async (answer: Answer): Promise<Checked> => {
  let now = 1_800_000_000_000;
  const test = await start(answer, (url) => ({
    clock: { now: () => now },
    targets: { model: url, account: null, refresh: null, revoke: null, authApi: url },
  }));
  return { ...test, pass: (ms) => void (now += ms) };
};

const check = async ({ relay }: TestRelay, token = 'at-1'): Promise<string> => {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${relay.addresses.authApi}/whoami`, { headers });
  return `${answer.status} ${await answer.text()}`;
};

it('asks the issuer once for all starts, and again after a while or for another token', async () => {
  const test = await startWith(status(200, OWNER));
  expect(await Promise.all([check(test), check(test), check(test)])).toEqual([
    CONFIRMED,
    CONFIRMED,
    CONFIRMED,
  ]);
  expect(test.backend.arrivals).toHaveLength(1);
  await check(test, 'at-2');
  test.pass(LATER_MS);
  await check(test);
  expect(test.backend.arrivals.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer at-1',
    'Bearer at-2',
    'Bearer at-1',
  ]);
  expect(test.relay.tokenFailure()).toBeNull();
});

it.each<readonly [string, Answer]>([
  ['an error', status(503, {})],
  ['a lost connection', (response) => void response.destroy()],
])('a confirmed token stays confirmed through %s of its issuer', async (_, broken) => {
  const test = await startWith(inTurn(status(200, OWNER), broken));
  await check(test);
  test.pass(LATER_MS);
  expect([await check(test), test.backend.arrivals.length, test.relay.tokenFailure()]).toEqual([
    CONFIRMED,
    2,
    null,
  ]);
});

it.each<readonly [string, Answer, string, string, number]>([
  ['a rejected token', status(401, { error: { code: 'token_expired' } }), '401', 'sign_in_required', 1],
  ['an error of the issuer', status(503, {}), '503', 'upstream_overloaded', 2],
  ['a lost connection', (response) => void response.destroy(), '502', 'upstream_unreachable', 2],
  [
    'a block page',
    status(403, '<html></html>', { 'cf-mitigated': 'challenge' }),
    '403',
    'upstream_blocked',
    2,
  ],
])('says why a token is not confirmed: %s', async (_, answer, code, kind, requests) => {
  const test = await startWith(answer);
  const answers = [await check(test), await check(test)].map((text) => text.slice(0, 3));
  expect([answers, test.relay.tokenFailure()?.kind]).toEqual([[code, code], kind]);
  // Starts are repeated: only a decision about the token is remembered for them.
  expect(test.backend.arrivals).toHaveLength(requests);
  expect(test.noted.blocked).toBe(kind === 'upstream_blocked' ? 2 : 0);
});

it('a token that was revoked is rejected, although it was confirmed before', async () => {
  const test = await startWith(inTurn(status(200, OWNER), status(401, {})));
  await check(test);
  test.pass(LATER_MS);
  expect([(await check(test)).slice(0, 3), test.relay.tokenFailure()?.kind]).toEqual([
    '401',
    'sign_in_required',
  ]);
});

it('passes the registration of an agent on, every time', async () => {
  const test = await startWith(status(200, { task_id: 't' }));
  const register = () =>
    fetch(`${test.relay.addresses.authApi}/v1/agent/a/task/register`, {
      method: 'POST',
      body: '{"signature":"s"}',
      headers: { 'content-type': 'application/json' },
    });
  expect([await (await register()).json(), (await register()).status]).toEqual([{ task_id: 't' }, 200]);
  expect(test.backend.arrivals.map(({ url, body }) => `${url} ${body.toString()}`)).toEqual(
    Array.from({ length: 2 }, () => '/v1/v1/agent/a/task/register {"signature":"s"}'),
  );
});

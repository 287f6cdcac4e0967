import { expect, it } from 'vitest';

import type { JsonObject } from '../../src/kit/json/json.ts';
import { openProxy } from '../support/open-proxy.ts';
import { hello } from '../support/scripts.ts';

const proxy = await openProxy(hello);
const PATH = '/v1/codex/captures';

const keyWith = async (scopes: readonly string[]): Promise<{ readonly id: string; readonly key: string }> =>
  (await (await proxy.post('/v1/codex/keys', { name: 'Other', scopes })).json()) as never;

/** Sends a request, and returns what its page says about its capture. */
const captureOf = async (requestId: string, key = proxy.key): Promise<JsonObject> => {
  const headers = { 'x-request-id': requestId, authorization: `Bearer ${key}` };
  await (await proxy.post('/v1/responses', { model: 'gpt-5.5', input: 'hi' }, { headers })).text();
  const details = (await (await proxy.get(`/v1/codex/requests/${requestId}`)).json()) as JsonObject;
  return details['capture'] as JsonObject;
};

const send = (method: string, key = proxy.key, body?: object): Promise<Response> =>
  fetch(`${proxy.url}${PATH}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const state = async (answer: Promise<Response>): Promise<JsonObject> =>
  (await (await answer).json()) as JsonObject;

const OFF = { mode: 'off', key_id: null, requests_left: null, expires_at: null };
const MISSING = { status: 'missing', message: expect.stringContaining(`POST ${PATH}`) as unknown };

it('requests are not captured by default', async () => {
  expect(await state(proxy.get(PATH))).toMatchObject({ object: 'codex.captures', ...OFF });
  expect(await captureOf('captures-0')).toEqual(MISSING);
});

it('an administrator has the next requests captured, without a restart', async () => {
  expect(await state(proxy.post(PATH, { requests: 2 }))).toMatchObject({ mode: 'next', requests_left: 2 });
  expect(await captureOf('captures-1')).toMatchObject({ status: 'captured', path: '/v1/responses' });
  expect(await state(proxy.get(PATH))).toMatchObject({ mode: 'next', requests_left: 1 });
  expect(await captureOf('captures-2')).toMatchObject({ status: 'captured' });
  expect(await captureOf('captures-3')).toEqual(MISSING);
  expect(await state(proxy.get(PATH))).toMatchObject(OFF);
});

it('an order for one key leaves others alone, until it is cancelled', async () => {
  const { id, key } = await keyWith(['infer']);
  const ordered = await state(proxy.post(PATH, { requests: 5, key_id: id, seed: 1 }));
  expect(ordered).toMatchObject({ mode: 'next', key_id: id, requests_left: 5 });
  expect(await captureOf('captures-4')).toEqual(MISSING);
  expect(await captureOf('captures-5', key)).toMatchObject({ status: 'captured' });
  expect(await state(send('DELETE'))).toMatchObject(OFF);
  expect(await captureOf('captures-6', key)).toEqual(MISSING);
});

it.each([
  [{}, 'missing_required_parameter'],
  [{ requests: 0 }, 'integer_below_min_value'],
  [{ requests: 101 }, 'integer_above_max_value'],
  [{ requests: 1.5 }, 'invalid_type'],
  [{ requests: 1, key_id: '' }, 'string_below_min_length'],
])('an order %j is rejected', async (body, code) => {
  const answer = await proxy.post(PATH, body);
  expect([answer.status, ((await answer.json()) as { error: JsonObject }).error['code']]).toEqual([
    400,
    code,
  ]);
});

it.each(['infer', 'read'])(
  'a key of the scope %s cannot order captures or see where they are',
  async (scope) => {
    const { key } = await keyWith([scope]);
    const answers = [
      await send('GET', key),
      await send('POST', key, { requests: 1 }),
      await send('DELETE', key),
    ];
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
  },
);

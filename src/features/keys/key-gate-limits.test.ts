import { expect, it } from 'vitest';

import {
  askOf,
  FAILED,
  failureFrom,
  limitOf,
  NOW,
  openGate,
  requestOf,
  runTurn,
} from '../../../test/support/key-gate.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Usage } from '../../canonical/events/usage.ts';
import type { LimitStore } from './limit-store.ts';
import { KEY_FAILURES } from './failures.ts';

const USAGE: Usage = {
  inputTokens: 40,
  cachedInputTokens: 20,
  cacheWriteInputTokens: 0,
  outputTokens: 10,
  reasoningTokens: 0,
  totalTokens: 50,
};

it('does not use the store for a key without limits', async () => {
  const limits = [limitOf({ model: 'o*' })];
  for (const policy of [{}, { limits }]) {
    const { gate, unsettled } = await openGate(policy, () => ({}) as LimitStore);
    (await gate.enter(askOf())).leave();
    expect(unsettled).toEqual([]);
  }
});

it('reserves the estimate and settles the usage', async () => {
  const { gate, settled, used } = await openGate({
    limits: [
      limitOf(),
      limitOf({ unit: 'requests', max: 5 }),
      limitOf({ unit: 'cost', window: 'day', max: 0.01 }),
    ],
  });
  const pass = await gate.enter(askOf({ choices: 2 }));
  expect(pass.headers).toEqual({
    'x-ratelimit-limit-requests': '5',
    'x-ratelimit-remaining-requests': '3',
    'x-ratelimit-reset-requests': '30s',
    'x-ratelimit-limit-tokens': '1000',
    'x-ratelimit-remaining-tokens': '600',
    'x-ratelimit-reset-tokens': '30s',
  });
  // 200 tokens of input for 2 and 200 of output for 10 a million.
  expect(await used()).toEqual([400, 2, 0.0024]);
  runTurn(pass, USAGE);
  runTurn(pass, null, FAILED);
  pass.leave();
  pass.leave();
  await settled();
  expect(await used()).toEqual([50, 1, 0.00016]);
});

it('is about a model in whatever case the client writes its name', async () => {
  const { gate, used } = await openGate({ limits: [limitOf({ unit: 'requests', model: 'gpt-5*' })] });
  await gate.enter(askOf({ requests: [requestOf({ model: 'GPT-5.2' })] }));
  expect(await used()).toEqual([1]);
});

it('gives back what was not used', async () => {
  const { gate, settled, used } = await openGate({ limits: [limitOf()] });
  const waiting = await gate.enter(askOf());
  const failed = await gate.enter(askOf());
  runTurn(failed, null, FAILED);
  for (const pass of [waiting, failed]) pass.leave();
  await settled();
  expect(await used()).toEqual([0]);
});

it('refuses with 429 and says which limit, and when it resets', async () => {
  const { gate, clock, refused } = await openGate({
    limits: [limitOf({ max: 250 }), limitOf({ unit: 'requests', window: '5h', max: 100 })],
  });
  await gate.enter(askOf());
  expect(await failureFrom(gate.enter(askOf()))).toEqual({
    kind: 'key_limit_exceeded',
    row: KEY_FAILURES.key_limit_exceeded,
    status: 429,
    type: 'rate_limit_error',
    code: 'key_limit_exceeded',
    message:
      'This key has reached its limit of 250 tokens per minute: 200 are used, and this request may use up to 200. The limit resets at 2026-11-17T12:01:00.000Z.',
    param: null,
    retryAfterSeconds: 30,
    headers: {},
    more: {
      limit: {
        unit: 'tokens',
        window: 'minute',
        model: null,
        max: 250,
        used: 200,
        resets_at: '2026-11-17T12:01:00.000Z',
      },
    },
  });
  clock.time += 30_000;
  await expect(gate.enter(askOf())).resolves.toBeDefined();
  expect(refused).toEqual(['key_limit_exceeded']);
});

it('tells clients not to retry if the reset is far away, or never helps', async () => {
  const small = await openGate({ limits: [limitOf({ window: 'month', max: 150, model: 'gpt-*' })] });
  expect(await failureFrom(small.gate.enter(askOf()))).toMatchObject({
    message:
      "This request may use up to 200 tokens, and this key may use at most 150 tokens per month for the models 'gpt-*'. Send less input, or a lower limit for the output.",
    retryAfterSeconds: null,
    headers: { 'x-should-retry': 'false' },
  });
  const { gate } = await openGate({ limits: [limitOf({ window: 'month', max: 300 })] });
  await gate.enter(askOf());
  expect(await failureFrom(gate.enter(askOf()))).toMatchObject({
    retryAfterSeconds: (Date.parse('2026-12-01') - NOW) / 1_000,
    headers: { 'x-should-retry': 'false' },
  });
});

it('assumes some output if the request has no limit for it', async () => {
  const { gate, used } = await openGate({ limits: [limitOf({ max: 10_000 })] });
  await gate.enter(askOf({ requests: [requestOf({ maxOutputTokens: null })] }));
  expect(await used()).toEqual([4_196]);
});

it('refuses a model without a price if there is a limit of the cost', async () => {
  const { gate } = await openGate({ limits: [limitOf({ unit: 'cost' })], concurrency: 1 });
  const unpriced = askOf({ requests: [requestOf({ model: 'o3' })] });
  expect(await failureFrom(gate.enter(unpriced))).toMatchObject({
    status: 400,
    code: 'unsupported_value',
    param: 'model',
  });
  // Its share is free again.
  await expect(gate.enter(askOf())).resolves.toBeDefined();
});

it('refuses everything while the store is away, and gives back what may have been reserved', async () => {
  const away = (store: LimitStore): LimitStore => ({
    ...store,
    async reserve(reservation) {
      await store.reserve(reservation);
      throw gatewayError('store_unavailable');
    },
  });
  const { gate, settled, used } = await openGate({ limits: [limitOf()] }, away);
  expect(await failureFrom(gate.enter(askOf()))).toMatchObject({ status: 503, code: 'store_unavailable' });
  await settled();
  expect(await used()).toEqual([0]);
});

it('settles again while the store is away, and counts it once', async () => {
  let tries = 0;
  const away = (store: LimitStore): LimitStore => ({
    ...store,
    async settle(id, amounts) {
      tries += 1;
      await store.settle(id, amounts);
      if (tries === 1) throw gatewayError('store_unavailable');
      return true;
    },
  });
  const { gate, settled, used, unsettled } = await openGate({ limits: [limitOf()] }, away);
  const pass = await gate.enter(askOf());
  runTurn(pass, USAGE);
  pass.leave();
  await settled();
  expect({ tries, used: await used(), unsettled }).toEqual({ tries: 2, used: [50], unsettled: [] });
});

it('keeps the reserve if the usage cannot be settled', async () => {
  const broken = (store: LimitStore): LimitStore => ({
    ...store,
    settle: () => Promise.reject(gatewayError('store_corrupt')),
  });
  const { gate, settled, used, unsettled } = await openGate({ limits: [limitOf()] }, broken);
  const pass = await gate.enter(askOf());
  runTurn(pass, USAGE);
  pass.leave();
  await settled();
  expect({ used: await used(), unsettled: unsettled.length }).toEqual({ used: [200], unsettled: 1 });
});

it('gives back what a client reserved that has left', async () => {
  const { gate, settled, used } = await openGate({ limits: [limitOf()] });
  const signal = AbortSignal.abort(new Error('gone'));
  await expect(gate.enter(askOf({ signal }))).rejects.toThrow('gone');
  await settled();
  expect(await used()).toEqual([0]);
});

it('counts the parts of a steered turn one by one, each in its own window', async () => {
  const { gate, clock, settled, used } = await openGate({
    limits: [
      limitOf({ max: 10_000, window: 'minute' }),
      limitOf({ unit: 'requests', window: 'day', max: 3 }),
    ],
  });
  const { signal } = new AbortController();
  const pass = await gate.enter(askOf());
  const turn = pass.watch();
  turn.onStart?.();
  const [one, unread] = [await pass.steer(30, signal), await pass.steer(30, signal)];
  expect(await failureFrom(pass.steer(30, signal))).toMatchObject({ code: 'key_limit_exceeded' });
  // 100 tokens of input, 10 of what was said, and 100 of output, for each.
  expect(await used()).toEqual([200 + 210 + 210, 3]);
  one.begin(Promise.resolve(USAGE));
  unread.giveBack();
  await expect.poll(used).toEqual([50 + 210, 2]);
  clock.time += 60_000;
  const later = await pass.steer(30, signal);
  later.begin(Promise.resolve(USAGE));
  // The usage of the whole turn.
  const usage = { ...USAGE, inputTokens: 120, outputTokens: 60, totalTokens: 180 };
  turn.onEnd?.({
    ending: { kind: 'ended', outcome: { kind: 'completed' } },
    usage,
    firstEventMs: 0,
    durationMs: 0,
  });
  await Promise.resolve();
  pass.leave();
  await settled();
  expect(await used()).toEqual([80, 3]);
});

it('keeps the reserve of a part whose usage is not known, and estimates what was left', async () => {
  const { gate, settled, used } = await openGate({ limits: [limitOf()] });
  const pass = await gate.enter(askOf());
  const turn = pass.watch();
  turn.onStart?.();
  turn.onEvent?.({ type: 'item-delta', itemId: 'a', at: 'text', delta: 'x'.repeat(300) });
  (await pass.steer(30, new AbortController().signal)).begin(Promise.resolve(null));
  turn.onEvent?.({ type: 'item-delta', itemId: 'a', at: 'text', delta: 'x'.repeat(30) });
  turn.onEnd?.({ ending: { kind: 'abandoned' }, usage: null, firstEventMs: 0, durationMs: 0 });
  pass.leave();
  await settled();
  expect(await used()).toEqual([200 + 110]);
});

it('holds a steered turn to the limits that its key has now', async () => {
  const { gate, change, settled, used } = await openGate({ limits: [limitOf()] });
  const { signal } = new AbortController();
  const pass = await gate.enter(askOf());
  change({ limits: [limitOf({ max: 300 })] });
  expect(await failureFrom(pass.steer(30, signal))).toMatchObject({ code: 'key_limit_exceeded' });
  change({ limits: [] });
  (await pass.steer(30, signal)).giveBack();
  change({ limits: [limitOf()] });
  (await pass.steer(30, signal)).giveBack();
  pass.leave();
  await settled();
  expect(await used()).toEqual([0]);
});

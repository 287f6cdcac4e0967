import { describe, expect, it } from 'vitest';

import { askOf, failureFrom, KEY, limitOf, openGate, requestOf } from '../../../test/support/key-gate.ts';

describe('what a key may run', () => {
  it('is everything for a key without a policy', async () => {
    const { gate } = await openGate({ models: ['o*'] });
    const requests = [requestOf({ model: 'any' })] as const;
    expect(await gate.allow({ ...askOf({ caller: 'configured' }), requests })).toBe(requests);
  });

  it('is nothing once it is revoked', async () => {
    const { gate, refused } = await openGate({ revokedAt: 1 });
    expect(await failureFrom(gate.allow(askOf()))).toMatchObject({ code: 'invalid_api_key' });
    expect(refused).toEqual(['invalid_api_key']);
  });

  it('is some models', async () => {
    const { gate } = await openGate({ models: ['o*'] });
    expect(await failureFrom(gate.allow(askOf()))).toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
      message: "The model 'gpt-5.2' does not exist or you do not have access to it. This key may use: o*.",
    });
  });

  it('has an effort up to the ceiling, also by default', async () => {
    const { gate } = await openGate({ effort: 'low' });
    expect(await gate.allow(askOf())).toEqual([
      requestOf({ reasoning: { effort: 'low', summary: null, context: null } }),
    ]);
    const high = requestOf({ reasoning: { effort: 'high', summary: null, context: null } });
    expect(await failureFrom(gate.allow(askOf({ requests: [high] })))).toMatchObject({
      status: 400,
      code: 'unsupported_value',
      param: 'reasoning.effort',
    });
  });

  it('is a number of turns at the same time', async () => {
    const { gate } = await openGate({ concurrency: 3 });
    const first = await gate.enter(askOf({ choices: 2 }));
    expect(await failureFrom(gate.enter(askOf({ choices: 2 })))).toMatchObject({
      status: 429,
      code: 'concurrency_limit',
      retryAfterSeconds: 1,
      message:
        'This key runs at most 3 turns at the same time: 2 are running or waiting, and this request needs 2.',
    });
    first.leave();
    first.leave();
    const both = await Promise.all([gate.enter(askOf()), gate.enter(askOf({ choices: 2 }))]);
    expect(both).toHaveLength(2);
    expect(await failureFrom(gate.enter(askOf()))).toMatchObject({ code: 'concurrency_limit' });
  });
});

describe('forwarded requests', () => {
  const forward = { caller: KEY.id, isText: true, bytes: 300, signal: new AbortController().signal };

  it('count as requests, and as tokens if they are text', async () => {
    const { gate, settled, used } = await openGate({
      limits: [limitOf(), limitOf({ unit: 'requests', model: '*' }), limitOf({ model: 'gpt-*' })],
    });
    (await gate.forward(forward))(true);
    (await gate.forward({ ...forward, isText: false }))(true);
    (await gate.forward(forward))(false);
    await settled();
    expect(await used()).toEqual([100, 2, 0]);
  });

  it('are refused for keys that are held to models or to a cost', async () => {
    const { gate } = await openGate({ models: ['*'] });
    expect(await failureFrom(gate.forward(forward))).toMatchObject({ status: 404, code: 'model_not_found' });
    const other = await openGate({ limits: [limitOf({ unit: 'cost' })] });
    expect(await failureFrom(other.gate.forward(forward))).toMatchObject({ code: 'model_not_found' });
  });
});

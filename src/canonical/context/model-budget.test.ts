import { describe, expect, it } from 'vitest';

import { MAX_RETRIES, ModelBudget, RETRY_WITHIN_MS, type Retry } from './model-budget.ts';

describe('ModelBudget', () => {
  it('allows requests up to its limit', () => {
    const budget = new ModelBudget(2);
    expect([
      budget.take(),
      budget.isLimitReached,
      budget.take(),
      budget.isLimitReached,
      budget.take(),
    ]).toEqual([true, false, true, true, false]);
    expect(budget.used).toBe(2);
  });

  it('has another limit in a run, whose retries count anew with each request', () => {
    const budget = new ModelBudget(1);
    budget.limitTo(2);
    for (let nth = 0; nth < MAX_RETRIES; nth += 1) budget.retry('worker lost');
    expect([budget.take(), budget.isLimitReached, budget.retry('worker lost')]).toEqual([true, false, false]);
    budget.nextRequest();
    expect([budget.retry('worker lost'), budget.take(), budget.take()]).toEqual([true, true, false]);
  });

  it('reports the exceeded limit once, and names its setting', () => {
    let reports = 0;
    const budget = new ModelBudget(1, {
      onExceeded() {
        reports += 1;
      },
    });
    budget.take();
    expect(budget.take()).toBe(false);
    expect(reports).toBe(0);
    expect([budget.exceeded(), budget.exceeded()]).toMatchObject(
      Array.from({ length: 2 }, () => ({
        kind: 'model_request_limit_exceeded',
        status: 400,
        message: expect.stringMatching(/limit of 1 model requests \(PROXY_MAX_MODEL_REQUESTS\)/),
      })),
    );
    expect(reports).toBe(1);
  });

  it('limits retries of all reasons together, and reports each', () => {
    const retries: Retry[] = [];
    const budget = new ModelBudget(64, { onRetry: (retry) => retries.push(retry) });
    for (let nth = 0; nth < MAX_RETRIES; nth += 1) {
      expect(budget.retry(nth % 2 === 0 ? 'worker lost' : 'invalid arguments')).toBe(true);
    }
    expect([budget.retry('worker lost'), budget.retry('no connection'), budget.retries]).toEqual([
      false,
      false,
      MAX_RETRIES,
    ]);
    expect(retries.slice(0, 2)).toEqual([
      { reason: 'worker lost', count: 1, isAllowed: true, afterMs: 0 },
      { reason: 'invalid arguments', count: 2, isAllowed: true, afterMs: 0 },
    ]);
    expect(retries.at(-1)).toMatchObject({ reason: 'no connection', isAllowed: false });
  });

  it('begins no retry that the client would wait too long for', () => {
    let now = 5;
    const budget = new ModelBudget(64, { clock: { now: () => now } });
    now += RETRY_WITHIN_MS - 1;
    expect(budget.retry('worker lost')).toBe(true);
    now += 1;
    expect(budget.retry('worker lost')).toBe(false);
  });
});

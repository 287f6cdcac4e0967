import { describe, expect, it } from 'vitest';

import { ModelBudget } from './model-budget.ts';

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
    budget.grant();
    expect([budget.take(), budget.take(), budget.used]).toEqual([true, false, 3]);
  });

  it('reports the exceeded limit once, and names its setting', () => {
    let reports = 0;
    const budget = new ModelBudget(1, () => {
      reports += 1;
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
});

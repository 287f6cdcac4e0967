import { describe, expect, it } from 'vitest';

import { planOf } from '../../test/support/plan.ts';
import { emit } from '../../test/support/turn-events.ts';
import { turnOf } from '../../test/support/turn-request.ts';
import { ModelBudget } from '../canonical/context/model-budget.ts';
import type { TurnContext } from '../canonical/context/turn-context.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { ParsedRequest } from './api.ts';
import { planAnswer } from './plan-answer.ts';
import type { RunCall, RunDeps } from './run-deps.ts';

const never = new AbortController().signal;

/** What is planned and run for one request; `resolve` is what becomes of its attachments. */
const open = async (resolve: (request: TurnRequest) => TurnRequest = (request) => request) => {
  const planned: [TurnRequest, TurnContext][] = [];
  const state = { isCurrent: true };
  const deps = {
    engine: {
      plan(...turn: [TurnRequest, TurnContext]) {
        planned.push(turn);
        return planOf(() => emit([]), { isCurrent: () => state.isCurrent });
      },
    },
    ambient: { clock: { now: () => 0 } },
    tokens: {},
    formats: {},
    rules: {
      keepaliveMs: 1_000,
      repair: { attempts: 1, inStreams: true, onRepair() {} },
      sideTurns: () => null,
    },
  } as unknown as RunDeps;
  const turn = turnOf();
  const answer = await planAnswer(turn, {
    parsed: { stream: true } as ParsedRequest,
    call: {} as RunCall,
    deps,
    openBudget: () => new ModelBudget(1),
    resolve: async (request) => resolve(request),
  });
  return { answer, planned, state, turn };
};

describe('planAnswer', () => {
  it('plans a plain request once', async () => {
    const { answer, planned } = await open();
    const plan = await answer.prepare();
    plan.run(never);
    expect(plan).toBe(answer.plan);
    expect(planned).toHaveLength(1);
  });

  it('plans again if something was learned in the meantime', async () => {
    const { answer, planned, state } = await open();
    state.isCurrent = false;
    expect(await answer.prepare()).not.toBe(answer.plan);
    expect(planned).toHaveLength(2);
  });

  it('plans again with the attachments that were fetched', async () => {
    const { answer, planned } = await open((request) => ({ ...request, user: 'with an image' }));
    await answer.prepare();
    expect(planned.map(([{ user }]) => user)).toEqual([null, 'with an image']);
  });

  it('gives each choice a budget of its own', async () => {
    const { answer, planned, turn } = await open();
    const plan = await answer.prepare();
    for (let choice = 0; choice < 3; choice += 1) plan.run(never);
    const budgets = new Set(planned.map(([, { budget }]) => budget));
    expect([budgets.size, budgets.has(turn.context.budget)]).toEqual([3, true]);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { MAX_RETRIES, ModelBudget, type Retry } from '../../src/canonical/context/model-budget.ts';
import { failure } from '../../src/canonical/failure/failure.ts';
import type { Produced } from '../../src/canonical/request/item.ts';
import type { TurnEvent } from '../../src/canonical/events/turn-event.ts';
import type { PlanTurn } from '../../src/engine/engine.ts';
import {
  ANSWER_STEPS,
  BACKEND_STEPS,
  type AnswerStepDeps,
  type BackendStepDeps,
} from '../../src/engine/steps/order.ts';
import { writeCall } from '../../src/engine/prose-tools/written-call.ts';
import { withSteps } from '../../src/engine/steps/step.ts';
import { planOf } from '../support/plan.ts';
import { answerStepDeps, backendStepDeps } from '../support/step-deps.ts';
import { accepted, ended } from '../support/spent-turns.ts';
import { collect, emit, fixedAmbient } from '../support/turn-events.ts';
import { functionTool, turnContext, turnRequest } from '../support/turn-request.ts';

/**
 * Law R: retries do not multiply. Every step that asks the model again is around the others; with a backend that fails
 * in all their ways, in any order, each model request but the first is a retry of the one budget.
 */

const ambient = fixedAmbient();

const said = (item: Produced, end: Produced): TurnEvent[] => [
  { type: 'item-started', item },
  { type: 'item-ended', item: end },
];
const text = (words: string): TurnEvent[] => {
  const head: Produced = { kind: 'message', id: 'm', role: 'assistant', parts: [] };
  return [
    { type: 'item-started', item: head },
    { type: 'item-delta', itemId: 'm', at: 'text', delta: words },
    { type: 'item-ended', item: { ...head, parts: [{ kind: 'text', text: words }], status: 'completed' } },
  ];
};
const call = (name: string): TurnEvent[] => {
  const head: Produced = { kind: 'tool-call', id: 'c', tool: 'function', callId: 'c', name, input: '' };
  return said(head, { ...head, status: 'completed' });
};

/** The ways to fail, each of which one step answers with a retry. */
const FAILURES: Readonly<Record<string, readonly TurnEvent[]>> = {
  'a lost worker': [accepted, ended({ kind: 'failed', failure: failure('worker_lost') }, 1)],
  'no forced call': [accepted, ...text('No.'), ended({ kind: 'completed' }, 1)],
  'a call with wrong arguments': [accepted, ...call('f'), ended({ kind: 'tool-calls' }, 1)],
  'a call of an unknown tool in prose': [
    accepted,
    ...text(writeCall({ name: 'g', input: '{}' })),
    ended({ kind: 'completed' }, 1),
  ],
};

const run = async (attempts: readonly string[], isProse: boolean, isStream: boolean) => {
  const retries: Retry[] = [];
  const budget = new ModelBudget(1_000, { onRetry: (retry) => retries.push(retry) });
  let requests = 0;
  const plan: PlanTurn = () =>
    planOf(() => {
      budget.take();
      requests += 1;
      return emit(FAILURES[attempts[(requests - 1) % attempts.length] ?? ''] ?? []);
    });
  const deps = backendStepDeps(ambient);
  const backend = withSteps<BackendStepDeps>(BACKEND_STEPS, plan, {
    ...deps,
    prose: { ...deps.prose, isProse: () => isProse },
  });
  const answer = withSteps<AnswerStepDeps>(ANSWER_STEPS, backend, {
    ...answerStepDeps(ambient),
    isStream,
    // More than the budget allows.
    repair: { attempts: 100, inStreams: true, check: async () => 'wrong', onRepair() {} },
  });
  const request = turnRequest({
    tools: [functionTool('f', { strict: true, parameters: { type: 'object' } })],
    toolChoice: { mode: 'named', tool: { kind: 'function', name: 'f' } },
  });
  const events = await collect(answer(request, turnContext({ budget })).run(new AbortController().signal));
  return { requests, retries, budget, last: events.at(-1) };
};

describe('retries of one answer', () => {
  it('come from one budget, however a backend fails', async () => {
    const ways = fc.array(fc.constantFrom(...Object.keys(FAILURES)), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(ways, fc.boolean(), fc.boolean(), async (attempts, isProse, isStream) => {
        const { requests, budget, retries, last } = await run(attempts, isProse, isStream);
        expect(requests).toBeLessThanOrEqual(1 + MAX_RETRIES);
        expect(requests).toBe(1 + budget.retries);
        expect(retries.filter(({ isAllowed }) => isAllowed).map(({ count }) => count)).toEqual(
          Array.from({ length: budget.retries }, (_, index) => index + 1),
        );
        expect(last?.type).toBe('turn-ended');
      }),
    );
  });

  it.each([
    ['a lost worker', 'worker lost', false, false],
    ['no forced call', 'forced call missing', false, true],
    ['a call with wrong arguments', 'invalid arguments', false, true],
    ['a call of an unknown tool in prose', 'unknown tool', true, true],
  ] as const)('have a reason: %s', async (way, reason, isProse, isStream) => {
    const { retries } = await run([way], isProse, isStream);
    expect(retries[0]).toMatchObject({ reason, count: 1, isAllowed: true });
  });

  it('end at the shared limit where a loop of its own would go on', async () => {
    const { requests, budget } = await run(['a call with wrong arguments'], false, false);
    expect([requests, budget.retries]).toEqual([1 + MAX_RETRIES, MAX_RETRIES]);
  });
});

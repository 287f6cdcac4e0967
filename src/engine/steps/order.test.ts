import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { planOf } from '../../../test/support/plan.ts';
import { answerStepDeps, backendStepDeps } from '../../../test/support/step-deps.ts';
import { collect, emit, fixedAmbient } from '../../../test/support/turn-events.ts';
import { turnContext, turnRequest } from '../../../test/support/turn-request.ts';
import type { Plan } from '../engine.ts';
import { ANSWER_STEPS, BACKEND_STEPS, type AnswerStepDeps, type BackendStepDeps } from './order.ts';
import { withSteps } from './step.ts';

const ENGINE = path.join(import.meta.dirname, '..');
const steps = [...ANSWER_STEPS, ...BACKEND_STEPS];
const names: readonly string[] = steps.map(({ name }) => name);

const ambient = fixedAmbient();
const answerDeps = answerStepDeps(ambient);
const backendDeps: BackendStepDeps = { ...backendStepDeps(ambient), secrets: ['hunter22'] };

describe('the list of steps', () => {
  it('has every step of the engine, once, with a reason', () => {
    const exported = globSync('**/*.ts', { cwd: ENGINE })
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) => [
        ...readFileSync(path.join(ENGINE, file), 'utf8').matchAll(
          /^export const \w+: Step<[^]*?name: '([\w-]+)'/gm,
        ),
      ])
      .map(([, name = '']) => name);
    expect(exported.length).toBeGreaterThan(10);
    expect([...names].toSorted()).toEqual(exported.toSorted());
    expect(new Set(names).size).toBe(names.length);
    for (const { why } of steps) expect(why.length).toBeGreaterThan(40);
  });

  it.each([
    // Failures of all steps of a backend are cleaned.
    ['hide-secrets', 'end-within-budget'],
    // Each part of a steered answer is an answer of its own.
    ['continue-steered', 'count-ends'],
    // What ends an answer must be counted.
    ['count-ends', 'end-steered'],
    ['count-ends', 'stop-early'],
    ['count-ends', 'limit-output'],
    ['count-ends', 'stop-sequences'],
    // What a stop sequence cuts is not output.
    ['limit-output', 'stop-sequences'],
    ['skip-empty-output', 'limit-output'],
    // One limit for all that asks the model again.
    ['limit-time', 'compact-conversations'],
    ['limit-time', 'keep-tool-choice'],
    ['limit-time', 'prose-tools'],
    // A compaction has no forced call.
    ['compact-conversations', 'keep-tool-choice'],
    // They judge calls, which prose does not have.
    ['repair-calls', 'prose-tools'],
    ['keep-tool-choice', 'prose-tools'],
    // Only valid calls end an answer.
    ['stop-early', 'repair-calls'],
    // The budget ends what these ask for.
    ['end-within-budget', 'keep-tool-choice'],
    ['end-within-budget', 'prose-tools'],
  ])('has %s around %s', (outer, inner) => {
    expect(names).toEqual(expect.arrayContaining([outer, inner]));
    expect(names.indexOf(outer)).toBeLessThan(names.indexOf(inner));
  });

  it('begins with the secrets on the side of the backend', () => {
    expect(BACKEND_STEPS[0].name).toBe('hide-secrets');
  });

  it('leaves the plan of a plain stream alone, and adds no generator around its events', async () => {
    const events = emit([]);
    const plan: Plan = planOf(() => events);
    const answer = withSteps<AnswerStepDeps>(ANSWER_STEPS, () => plan, answerDeps);
    expect(answer(turnRequest(), turnContext())).toBe(plan);
    const { secrets: _, ...rest } = backendDeps;
    const inner = BACKEND_STEPS.filter(({ name }) => name !== 'hide-secrets' && name !== 'end-within-budget');
    const backend = withSteps<BackendStepDeps>(inner, () => plan, { ...rest, secrets: [] });
    expect(backend(turnRequest(), turnContext())).toBe(plan);
    expect(await generatorsOf(withSteps<BackendStepDeps>(BACKEND_STEPS, () => plan, backendDeps))).toBe(0);
  });
});

/** How many async generators are read when a plain request is run, without the source. */
const generatorsOf = async (plan: ReturnType<typeof withSteps>): Promise<number> => {
  const prototype = Object.getPrototypeOf(Object.getPrototypeOf(emit([]))) as {
    next: (this: object, ...values: unknown[]) => unknown;
  };
  const { next } = prototype;
  const seen = new Set<object>();
  prototype.next = function counted(...values) {
    seen.add(this);
    return next.apply(this, values);
  };
  try {
    await collect(plan(turnRequest(), turnContext()).run(new AbortController().signal));
  } finally {
    prototype.next = next;
  }
  return seen.size - 1;
};

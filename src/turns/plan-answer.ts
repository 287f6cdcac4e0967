import { ModelBudget } from '../canonical/context/model-budget.ts';
import type { Turn } from '../canonical/context/turn-context.ts';
import type { TurnRequest } from '../canonical/request/turn-request.ts';
import type { Plan } from '../engine/engine.ts';
import { ANSWER_STEPS, type AnswerStepDeps } from '../engine/steps/order.ts';
import { withSteps } from '../engine/steps/step.ts';
import type { Trace } from '../canonical/context/trace.ts';
import type { Clock } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ParsedRequest } from './api.ts';
import type { RunCall, RunDeps, NotedRequest } from './run-deps.ts';

interface BudgetDeps {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** Opens the budget of an answer. Its retries are recorded; an answer that the limit ends is counted and logged. */
export const modelBudgets =
  (limit: number, { metrics, logger, clock }: BudgetDeps) =>
  ({ requestId, note }: NotedRequest, trace: Trace): ModelBudget =>
    new ModelBudget(limit, {
      clock,
      onExceeded() {
        metrics.modelRequestLimits.inc();
        logger.warn({ requestId, limit }, 'model request limit reached');
      },
      onRetry(retry) {
        trace.record('retry', retry);
        note({ retries: retry.count });
      },
    });

interface AnswerDeps {
  readonly parsed: ParsedRequest;
  readonly call: RunCall;
  readonly deps: RunDeps;
  readonly openBudget: () => ModelBudget;
  /** Fetches the attachments of a request. */
  readonly resolve: (request: TurnRequest, plan: Plan) => Promise<TurnRequest>;
}

export interface PlannedAnswer {
  /** As far as it is known before the attachments are fetched. */
  readonly plan: Plan;
  /** The plan to run: planned again only if the attachments or something that was learned since change it. */
  prepare(): Promise<Plan>;
}

/** Plans the answer to a request. */
export const planAnswer = async (
  turn: Turn,
  { parsed, call, deps, resolve, openBudget }: AnswerDeps,
): Promise<PlannedAnswer> => {
  const { clock } = deps.ambient;
  const side = await deps.rules.sideTurns(parsed, turn.request, call);
  const stepDeps: AnswerStepDeps = {
    clock,
    isStream: parsed.stream,
    keepaliveMs: deps.rules.keepaliveMs,
    tokenizer: deps.tokens,
    short: side === null ? null : { ...side, prepare: (request) => resolve(request, first) },
    restate: parsed.restate ?? null,
    stopEarly: parsed.dialect?.stopEarly ?? null,
    repair: {
      ...deps.rules.repair,
      check: ({ parameters }, input, caller) => deps.formats.problemWith(input, parameters ?? {}, caller),
    },
  };
  const plan = withSteps<AnswerStepDeps>(ANSWER_STEPS, deps.engine.plan, stepDeps);
  const withBudgets = (request: TurnRequest): Plan =>
    budgetPerRun(plan(request, turn.context), () => plan(request, { ...turn.context, budget: openBudget() }));
  const first = withBudgets(turn.request);
  return {
    plan: first,
    async prepare() {
      // Otherwise they are fetched only if no short answer comes.
      const request = side === null ? await resolve(turn.request, first) : turn.request;
      return request === turn.request && first.isCurrent() ? first : withBudgets(request);
    },
  };
};

/** Each run of a plan, one per choice, has a budget of its own. */
const budgetPerRun = (plan: Plan, again: () => Plan): Plan => {
  let hasRun = false;
  return {
    ...plan,
    run(...how) {
      const current = hasRun ? again() : plan;
      hasRun = true;
      return current.run(...how);
    },
  };
};

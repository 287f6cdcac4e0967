import type { Turn } from '../canonical/context/turn-context.ts';
import type { Plan } from '../engine/engine.ts';
import { repairCalls } from '../engine/steps/repair-calls.ts';
import { retryWhole } from '../engine/steps/retry-whole.ts';
import type { ParsedRequest } from './api.ts';
import type { RunCall, RunDeps } from './start-run.ts';
import { stopEarly } from './stop-early.ts';

interface Answering {
  readonly parsed: ParsedRequest;
  readonly call: RunCall;
  readonly deps: RunDeps;
}

/** The plan of a request whose attachments are resolved. Each run of it, one per choice, has a budget of its own. */
export const planAnswer = (turn: Turn, { parsed, call, deps }: Answering): Plan => {
  const planOf = (one: Turn): Plan => {
    const sound = withRepair(deps.engine.plan(one.request, one.context), one, {
      deps,
      isStream: parsed.stream,
    });
    const stopped = stopEarly(sound, parsed.dialect?.stopEarly ?? null);
    return parsed.stream ? stopped : retryWhole(stopped);
  };
  const first = planOf(turn);
  let hasRun = false;
  return {
    ...first,
    run(...how) {
      const again = (): Turn => ({
        ...turn,
        context: { ...turn.context, budget: deps.openBudget(call) },
      });
      const plan = hasRun ? planOf(again()) : first;
      hasRun = true;
      return plan.run(...how);
    },
  };
};

const withRepair = (
  plan: Plan,
  { request, context }: Turn,
  { deps, isStream }: { readonly deps: RunDeps; readonly isStream: boolean },
): Plan => {
  const { attempts, inStreams, onRepair } = deps.repair;
  if (isStream && !inStreams) return plan;
  return repairCalls(plan, request, {
    plan: (again) => deps.engine.plan(again, context),
    attempts,
    holds: isStream ? 'calls' : 'answer',
    check: ({ parameters }, input) => deps.formats.problemWith(input, parameters ?? {}, context.caller.keyId),
    onRepair,
  });
};

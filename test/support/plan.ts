import type { TurnRequest } from '../../src/canonical/request/turn-request.ts';
import type { Plan } from '../../src/engine/engine.ts';
import type { Step } from '../../src/engine/steps/step.ts';
import { turnContext, turnRequest } from './turn-request.ts';

/** A plan with this `run` and no other content. */
export const planOf = (run: Plan['run'], said: Partial<Plan> = {}): Plan => ({
  ignored: [],
  refused: [],
  isCurrent: () => true,
  ...said,
  run,
});

/** The plan of a step around this plan. */
export const throughStep = <Deps>(
  step: Step<Deps>,
  deps: Deps,
  plan: Plan,
  different: Partial<TurnRequest> = {},
): Plan => step.wrap(() => plan, deps)(turnRequest(different), turnContext());

import type { PlanTurn } from '../engine.ts';

/**
 * A transform of turns around the model's answer. `order.ts` lists all steps.
 *
 * A step wraps the planning of a turn: it may change the request, the plan, or the events of its run. A step that has
 * nothing to do for a request returns the plan of `next` as it is, and so adds nothing to the path of its events.
 */
export interface Step<Deps = never> {
  readonly name: string;
  /** Why it exists, and why in this place; printed into `docs/architecture.md`. */
  readonly why: string;
  wrap(next: PlanTurn, deps: Deps): PlanTurn;
}

/** Planning with these steps around it, the first outermost. */
export const withSteps = <Deps>(steps: readonly Step<Deps>[], plan: PlanTurn, deps: Deps): PlanTurn =>
  steps.reduceRight((next, step) => step.wrap(next, deps), plan);

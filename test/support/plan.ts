import type { Engine, Plan } from '../../src/engine/engine.ts';

/** A plan with this `run` and no other content. */
export const planOf = (run: Plan['run'], said: Partial<Plan> = {}): Plan => ({
  ignored: [],
  refused: [],
  ...said,
  run,
});

/** An engine that returns the same plan for every request. */
export const engineOf = (plan: Plan): Engine => ({ plan: () => plan });

import type { Engine, Plan } from '../../src/engine/engine.ts';

/** A plan that runs like this and has nothing to say beforehand. */
export const planOf = (run: Plan['run'], said: Partial<Plan> = {}): Plan => ({
  ignored: [],
  refused: [],
  ...said,
  run,
});

/** An engine that plans the same for every request. */
export const engineOf = (plan: Plan): Engine => ({ plan: () => plan });

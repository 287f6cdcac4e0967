import type { Failure } from './failure.ts';

/** Rewrites a failure. `count` counts the tokens of the input; it resolves with null if that fails or takes too long. */
export type Restate = (failed: Failure, count: () => Promise<number | null>) => Promise<Failure>;

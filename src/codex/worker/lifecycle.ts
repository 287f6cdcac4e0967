/** The decisions of the pool that need no process: how long to wait, and when a worker is worn. */

export interface Backoff {
  readonly failures: number;
  readonly lastFailureMs: number;
}

export const NO_FAILURES: Backoff = { failures: 0, lastFailureMs: Number.NEGATIVE_INFINITY };

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** Long enough that a slow failure after the longest delay still counts as the same trouble. */
const FORGIVEN_AFTER_MS = 120_000;

/** 0.5 s, doubling to 30 s. Two minutes without trouble and it begins anew. */
export const afterFailure = (
  backoff: Backoff,
  nowMs: number,
): { readonly delayMs: number; readonly backoff: Backoff } => {
  const failures = nowMs - backoff.lastFailureMs > FORGIVEN_AFTER_MS ? 0 : backoff.failures;
  return {
    delayMs: Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures),
    backoff: { failures: failures + 1, lastFailureMs: nowMs },
  };
};

/** A worker that ran this long was not part of the trouble before it. */
const HEALTHY_AFTER_MS = 10_000;

export const afterHealth = (backoff: Backoff, readyForMs: number): Backoff =>
  readyForMs >= HEALTHY_AFTER_MS ? NO_FAILURES : backoff;

/** `renewal`: nothing is wrong with it, but a new one would know a new login or new models. */
export type Wear = 'threads' | 'memory' | 'renewal';

export interface WearLimits {
  readonly maxThreads: number;
  readonly maxRssMb: number;
}

/** A limit below what a fresh process needs must not replace workers without end. */
const MEMORY_GRACE_MS = 5_000;

export const wornByThreads = (threads: number, limits: WearLimits): boolean => threads > limits.maxThreads;

export const wornByMemory = (residentBytes: number, ageMs: number, limits: WearLimits): boolean =>
  ageMs >= MEMORY_GRACE_MS && residentBytes > limits.maxRssMb * 1024 * 1024;

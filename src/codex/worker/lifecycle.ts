import type { Vitals } from './vitals.ts';

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
export type Wear = 'memory' | 'disk' | 'threads' | 'cpu' | 'renewal';

export interface WearLimits {
  readonly maxRssMb: number;
  readonly maxHomeMb: number;
  readonly maxThreads: number;
}

const MB = 1024 * 1024;

/** A limit below what a fresh process needs must not replace workers without end. */
const GRACE_MS = 5_000;

/**
 * Threads are closed when their turn is over, so those beyond the leases are spares, or were lost by a
 * mistake of ours or of the app-server: that they are counted is a safety net.
 */
export const wearOf = (
  vitals: Vitals,
  { ageMs, leases }: { readonly ageMs: number; readonly leases: number },
  limits: WearLimits,
): Wear | null => {
  if (ageMs < GRACE_MS) return null;
  if (vitals.residentBytes > limits.maxRssMb * MB) return 'memory';
  if (vitals.homeBytes > limits.maxHomeMb * MB) return 'disk';
  return vitals.threads - leases > limits.maxThreads ? 'threads' : null;
};

/** How much processor time a worker had used, and when. */
export interface CpuSample {
  readonly cpuMs: number;
  readonly atMs: number;
}

/** An app-server that nobody asks anything needs next to nothing; one that is caught in a loop, a core. */
const IDLE_CORES = 0.5;

export const burnsIdle = (before: CpuSample, after: CpuSample): boolean =>
  after.cpuMs - before.cpuMs > (after.atMs - before.atMs) * IDLE_CORES;

import type { Vitals } from './vitals.ts';

/** The pool's decisions that need no process: delays, and when to retire a worker. */

export interface Backoff {
  readonly failures: number;
  readonly lastFailureMs: number;
}

export const NO_FAILURES: Backoff = { failures: 0, lastFailureMs: Number.NEGATIVE_INFINITY };

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 30_000;
/** Long enough that a slow failure after the longest delay counts as the same problem. */
const FORGIVEN_AFTER_MS = 120_000;

/** When to start another worker. */
interface Restart {
  readonly delayMs: number;
  readonly backoff: Backoff;
}

/** 0.5 s, doubling to 30 s. Resets after two minutes without a failure. */
export const afterFailure = (backoff: Backoff, nowMs: number): Restart => {
  const failures = nowMs - backoff.lastFailureMs > FORGIVEN_AFTER_MS ? 0 : backoff.failures;
  return {
    delayMs: Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures),
    backoff: { failures: failures + 1, lastFailureMs: nowMs },
  };
};

/** A worker that ran this long was not affected by an earlier problem. */
const HEALTHY_AFTER_MS = 10_000;
/** A worker that could be started once can probably be started again: keep the wait short. */
const MAX_DELAY_AFTER_LOSS_MS = 2_000;

/** The delay after a worker was lost that had been ready: its successor is started at once or soon. */
export const afterLoss = (backoff: Backoff, nowMs: number, readyForMs: number): Restart => {
  if (readyForMs >= HEALTHY_AFTER_MS) return { delayMs: 0, backoff: NO_FAILURES };
  const next = afterFailure(backoff, nowMs);
  return { ...next, delayMs: Math.min(MAX_DELAY_AFTER_LOSS_MS, next.delayMs) };
};

/**
 * Reasons to replace a worker once another is ready. `stuck`: it is alive, but a call of a turn timed out.
 * `renewal`: nothing is wrong with it, but a new one would have a new login or new models.
 */
export type RetireReason = 'memory' | 'disk' | 'threads' | 'cpu' | 'stuck' | 'renewal';

export interface RetireLimits {
  readonly maxRssMb: number;
  readonly maxHomeMb: number;
  readonly maxThreads: number;
}

const MB = 1024 * 1024;

/**
 * On a nearly full disk a home is given up sooner to free space. A smaller home is not: a new one has 3 MB,
 * and workers would be replaced without end for files of others.
 */
const LOW_SPACE_MB = 64;
const HOME_WORTH_FREEING_MB = 16;

/** A limit below what a new process needs must not replace workers without end. */
const GRACE_MS = 5_000;

/**
 * Threads are closed when their turn ends, so those beyond the leases are pre-started, or leaked by us or the
 * app-server: counting them is a safety net.
 */
export const retireReasonOf = (
  vitals: Vitals,
  { ageMs, leases }: { readonly ageMs: number; readonly leases: number },
  limits: RetireLimits,
): RetireReason | null => {
  if (ageMs < GRACE_MS) return null;
  if (vitals.residentBytes > limits.maxRssMb * MB) return 'memory';
  const isLow = vitals.freeBytes !== null && vitals.freeBytes < LOW_SPACE_MB * MB;
  const maxHomeMb = isLow ? Math.min(limits.maxHomeMb, HOME_WORTH_FREEING_MB) : limits.maxHomeMb;
  if (vitals.homeBytes > maxHomeMb * MB) return 'disk';
  return vitals.threads - leases > limits.maxThreads ? 'threads' : null;
};

/** Processor time that a worker had used, and when. */
export interface CpuSample {
  readonly cpuMs: number;
  readonly atMs: number;
}

/** An idle app-server needs almost no CPU; one in an endless loop needs a core. */
const IDLE_CORES = 0.5;

export const isBusyWhileIdle = (before: CpuSample, after: CpuSample): boolean =>
  after.cpuMs - before.cpuMs > (after.atMs - before.atMs) * IDLE_CORES;

/** Reasons to end a worker at once: its turns cannot continue, and no other may start there. */
export type HealthProblem = 'hung' | 'home-gone';

/** Checks until a silent worker counts as hung. */
export const CHECKS_UNTIL_HUNG = 10;
/** Checks without an answer after which the worker is avoided if there is another. */
const CHECKS_UNTIL_SILENT = 5;

/**
 * The result of one check. Checks are counted, not time: if this process itself was blocked, only one check
 * is late.
 */
export interface PingCheck {
  /** Consecutive checks with an open ping and no output since the previous check. */
  readonly missedChecks: number;
  readonly received: number;
}

export const afterCheck = (
  before: PingCheck,
  { received, isPinged }: { readonly received: number; readonly isPinged: boolean },
): PingCheck => ({
  received,
  missedChecks: received === before.received && isPinged ? before.missedChecks + 1 : 0,
});

export const isSilent = ({ missedChecks }: PingCheck): boolean => missedChecks >= CHECKS_UNTIL_SILENT;
export const isHung = ({ missedChecks }: PingCheck): boolean => missedChecks >= CHECKS_UNTIL_HUNG;

/** A worker that could take a turn. */
export interface Candidate {
  readonly leases: number;
  readonly isToBeReplaced: boolean;
  readonly isSilent: boolean;
}

/**
 * The worker for the next turn: responsive, preferably not retiring, then with the fewest turns. The first
 * among equals, so that a few turns use the pre-started threads of one worker instead of cold ones of many.
 */
export const leastLoaded = <C extends Candidate>(candidates: readonly C[]): C | null => {
  const order = (a: Candidate, b: Candidate): number =>
    Number(a.isSilent) - Number(b.isSilent) ||
    Number(a.isToBeReplaced) - Number(b.isToBeReplaced) ||
    a.leases - b.leases;
  return candidates.toSorted(order)[0] ?? null;
};

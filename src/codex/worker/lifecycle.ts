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
/** What could be started once may be started again soon: nobody should wait long for it. */
const MAX_DELAY_AFTER_LOSS_MS = 2_000;

/** A worker is lost that had been ready for a while: its successor is started at once, or soon. */
export const afterLoss = (
  backoff: Backoff,
  nowMs: number,
  readyForMs: number,
): { readonly delayMs: number; readonly backoff: Backoff } => {
  if (readyForMs >= HEALTHY_AFTER_MS) return { delayMs: 0, backoff: NO_FAILURES };
  const next = afterFailure(backoff, nowMs);
  return { ...next, delayMs: Math.min(MAX_DELAY_AFTER_LOSS_MS, next.delayMs) };
};

/**
 * Reasons to replace a worker once another is ready. `stuck`: it lives, but a call that a turn waited for was not
 * answered. `renewal`: nothing is wrong with it, but a new one would know a new login or new models.
 */
export type RetireReason = 'memory' | 'disk' | 'threads' | 'cpu' | 'stuck' | 'renewal';

export interface RetireLimits {
  readonly maxRssMb: number;
  readonly maxHomeMb: number;
  readonly maxThreads: number;
}

const MB = 1024 * 1024;

/**
 * On a disk that is nearly full a home is given up sooner, because that makes room. A smaller home is not: a
 * fresh one has 3 MB, and workers would be replaced without end for what others have written.
 */
const LOW_SPACE_MB = 64;
const HOME_WORTH_FREEING_MB = 16;

/** A limit below what a fresh process needs must not replace workers without end. */
const GRACE_MS = 5_000;

/**
 * Threads are closed when their turn is over, so those beyond the leases are spares, or were lost by a
 * mistake of ours or of the app-server: that they are counted is a safety net.
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

/** How much processor time a worker had used, and when. */
export interface CpuSample {
  readonly cpuMs: number;
  readonly atMs: number;
}

/** An app-server that nobody asks anything needs next to nothing; one that is caught in a loop, a core. */
const IDLE_CORES = 0.5;

export const isBusyWhileIdle = (before: CpuSample, after: CpuSample): boolean =>
  after.cpuMs - before.cpuMs > (after.atMs - before.atMs) * IDLE_CORES;

/** Reasons to end a worker at once: what runs on it does not go on, and nothing else may begin there. */
export type HealthProblem = 'hung' | 'home-gone';

/** How often a worker is looked at while it may be silent. */
export const LOOKS_UNTIL_HUNG = 10;
/** So many looks in a row without an answer: it is asked for nothing if there is another. */
const LOOKS_UNTIL_SILENT = 5;

/** What one look at a worker saw. Looks are counted, not time: if we stood still ourselves, one was late. */
export interface IdleTimer {
  /** Looks in a row at which a question was open and nothing had come since the look before. */
  readonly looks: number;
  readonly heard: number;
}

export const afterLook = (
  before: IdleTimer,
  { heard, isAsked }: { readonly heard: number; readonly isAsked: boolean },
): IdleTimer => ({ heard, looks: heard === before.heard && isAsked ? before.looks + 1 : 0 });

export const isSilent = ({ looks }: IdleTimer): boolean => looks >= LOOKS_UNTIL_SILENT;
export const isHung = ({ looks }: IdleTimer): boolean => looks >= LOOKS_UNTIL_HUNG;

/** A worker that could take a turn. */
export interface Candidate {
  readonly leases: number;
  readonly isRetiring: boolean;
  readonly isSilent: boolean;
}

/**
 * Who takes the next turn: one that answers, rather a fresh one, of these the one with the fewest turns. Among
 * equals the first, so that a few turns meet the spare threads of one worker instead of cold ones of many.
 */
export const leastLoaded = <C extends Candidate>(candidates: readonly C[]): C | null => {
  const order = (a: Candidate, b: Candidate): number =>
    Number(a.isSilent) - Number(b.isSilent) ||
    Number(a.isRetiring) - Number(b.isRetiring) ||
    a.leases - b.leases;
  return candidates.toSorted(order)[0] ?? null;
};

import type { Clock } from '../../../kit/ambient.ts';
import { forgetOldest } from '../../../kit/collections/recent.ts';

/** As long as a kind counts as in use after its last request. */
const IN_USE_MS = 30 * 60_000;
/** The number of requests at once is remembered for this long. */
const PEAK_MS = 60_000;
/** Kinds that are prepared on a new worker. */
const MAX_WARMED = 4;
/** Bounded by the model catalogue anyway. */
const MAX_KINDS = 256;

interface Kind {
  running: number;
  /** Most requests at once in the last minute. */
  peak: number;
  peakAtMs: number;
  usedAtMs: number;
}

/** Which entries of the model catalogue are in use, and by how many requests at once. */
export class RecentKinds {
  readonly #clock: Clock;
  /** In order of last use. */
  readonly #kinds = new Map<string, Kind>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether there was no request yet. */
  get isEmpty(): boolean {
    return this.#kinds.size === 0;
  }

  began(slug: string): void {
    const now = this.#clock.now();
    const kind = this.#kinds.get(slug) ?? { running: 0, peak: 0, peakAtMs: now, usedAtMs: now };
    kind.running += 1;
    kind.usedAtMs = now;
    if (kind.running >= kind.peak || now - kind.peakAtMs > PEAK_MS) {
      kind.peak = kind.running;
      kind.peakAtMs = now;
    }
    this.#kinds.delete(slug);
    this.#kinds.set(slug, kind);
    forgetOldest(this.#kinds, MAX_KINDS);
  }

  ended(slug: string): void {
    const kind = this.#kinds.get(slug);
    if (kind !== undefined) kind.running = Math.max(0, kind.running - 1);
  }

  /** How many requests may come at once. */
  wanted(slug: string): number {
    const kind = this.#kinds.get(slug);
    if (kind === undefined) return 1;
    const isRecent = this.#clock.now() - kind.peakAtMs <= PEAK_MS;
    return Math.max(1, kind.running, isRecent ? kind.peak : 0);
  }

  isInUse(slug: string): boolean {
    const kind = this.#kinds.get(slug);
    return kind !== undefined && this.#clock.now() - kind.usedAtMs < IN_USE_MS;
  }

  /** The kinds in use, the latest first. */
  inUse(): readonly string[] {
    return [...this.#kinds.keys()]
      .toReversed()
      .filter((slug) => this.isInUse(slug))
      .slice(0, MAX_WARMED);
  }
}

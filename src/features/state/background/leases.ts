import type { Lease, ResponseRow, ResponseStore, SeenLease } from '../store/port.ts';

export interface LeasesOptions {
  readonly store: Pick<ResponseStore, 'renew' | 'leases' | 'take'>;
  /** The id of this process. */
  readonly instance: string;
  /** How many lost responses may be taken over now. */
  readonly room: () => number;
  /** This instance runs them now. Must not throw. */
  readonly onTaken: (rows: readonly ResponseRow[]) => void;
  readonly onError: (error: unknown) => void;
  /** For tests. */
  readonly everyMs?: number;
}

const EVERY_MS = 3_000;
/** A lease that was seen so many times without a renewal is lost: its instance should have renewed it several times. */
const LOOKS = 4;
const MAX_LEASES = 10_000;

/**
 * Shows other instances that this one is alive, and finds the responses of instances that are not. No clocks are compared:
 * an instance is dead if its leases do not change while this one looks at them again and again. So neither a clock that
 * jumps nor one that is wrong ends a healthy run.
 */
export class Leases {
  readonly #options: LeasesOptions;
  /** The responses that run here, and what to do when one of them was cancelled, deleted or taken over. */
  readonly #held = new Map<string, () => void>();
  #seen = new Map<string, { readonly lease: SeenLease; readonly looks: number }>();
  #beat = 0;
  #timer: NodeJS.Timeout | undefined;
  #isTaking = true;
  #isStopped = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  /** The lease of a response that starts now. */
  get current(): Lease {
    return { instance: this.#options.instance, beat: this.#beat };
  }

  /** Renews the lease of a response until it is dropped. */
  hold(id: string, onLost: () => void): void {
    this.#held.set(id, onLost);
  }

  drop(id: string): void {
    this.#held.delete(id);
  }

  start(): void {
    void this.#tick();
  }

  /** Lost responses are left to other instances. */
  stopTaking(): void {
    this.#isTaking = false;
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  async #tick(): Promise<void> {
    // One after the other: a slow database is not asked even more often.
    await this.#attempt(() => this.#renew());
    if (this.#isTaking && !this.#isStopped) await this.#attempt(() => this.#takeLost());
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#tick(), this.#options.everyMs ?? EVERY_MS);
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return;
    this.#beat += 1;
    const lost = await this.#options.store.renew(this.current, [...this.#held.keys()]);
    for (const id of lost) this.#held.get(id)?.();
  }

  async #takeLost(): Promise<void> {
    const { store, room, onTaken } = this.#options;
    const leases = await store.leases(MAX_LEASES);
    const seen = new Map<string, { readonly lease: SeenLease; readonly looks: number }>();
    for (const lease of leases) {
      if (this.#held.has(lease.id)) continue;
      const before = this.#seen.get(lease.id);
      const isSame = before?.lease.beat === lease.beat && before.lease.instance === lease.instance;
      seen.set(lease.id, { lease, looks: isSame ? before.looks + 1 : 1 });
    }
    this.#seen = seen;
    const lost = [...seen.values()].filter(({ looks }) => looks >= LOOKS).slice(0, room());
    if (lost.length === 0) return;
    onTaken(
      await store.take(
        this.current,
        lost.map(({ lease }) => lease),
      ),
    );
  }
}

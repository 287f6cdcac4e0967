import type { AgentLease, AgentSessionRow, AgentSessionStore, SeenAgentLease } from '../store/port.ts';

export interface SessionLeasesOptions {
  readonly store: AgentSessionStore;
  /** The id of this process. */
  readonly instance: string;
  /** Their instances have stopped. */
  readonly onLost: (rows: readonly AgentSessionRow[]) => Promise<void>;
  /** Called regularly, for what else has to be looked at again and again. */
  readonly onTick: () => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** For tests. */
  readonly everyMs?: number;
}

const EVERY_MS = 3_000;
/** A lease that was seen so many times without a renewal is lost. */
const LOOKS = 4;
const MAX_LEASES = 10_000;
const MAX_TAKEN = 100;

/**
 * Shows other instances that this one is alive, and finds the turns of instances that are not. No clocks are compared: an
 * instance is dead if its leases do not change while this one looks at them again and again.
 */
export class SessionLeases {
  readonly #options: SessionLeasesOptions;
  /** The sessions that run here, and what to do when one of them runs elsewhere. */
  readonly #held = new Map<string, () => void>();
  #seen = new Map<string, { readonly lease: SeenAgentLease; readonly looks: number }>();
  #beat = 0;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isStopped = false;

  constructor(options: SessionLeasesOptions) {
    this.#options = options;
  }

  get current(): AgentLease {
    return { instance: this.#options.instance, beat: this.#beat };
  }

  /** Until the result is called. */
  hold(id: string, onLost: () => void): () => void {
    this.#held.set(id, onLost);
    return () => {
      // A later turn of the session may run here by now.
      if (this.#held.get(id) === onLost) this.#held.delete(id);
    };
  }

  start(): void {
    // Each for itself: others must not take this instance for dead while it ends the turns of another one.
    void this.#repeat(() => this.#renew());
    void this.#repeat(
      () => this.#takeLost(),
      () => this.#options.onTick(),
    );
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #repeat(...steps: readonly (() => Promise<void>)[]): Promise<void> {
    // One after the other: a slow database is not asked even more often.
    for (const step of steps) await this.#attempt(step);
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      void this.#repeat(...steps);
    }, this.#options.everyMs ?? EVERY_MS);
    timer.unref();
    this.#timers.add(timer);
  }

  async #attempt(step: () => Promise<void>): Promise<void> {
    if (this.#isStopped) return;
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
    const { store, onLost } = this.#options;
    const seen = new Map<string, { readonly lease: SeenAgentLease; readonly looks: number }>();
    for (const lease of await store.leases(MAX_LEASES)) {
      if (this.#held.has(lease.id)) continue;
      const before = this.#seen.get(lease.id);
      const isSame = before?.lease.beat === lease.beat && before.lease.instance === lease.instance;
      seen.set(lease.id, { lease, looks: isSame ? before.looks + 1 : 1 });
    }
    this.#seen = seen;
    const lost = [...seen.values()].filter(({ looks }) => looks >= LOOKS).slice(0, MAX_TAKEN);
    if (lost.length === 0) return;
    await onLost(
      await store.take(
        this.current,
        lost.map(({ lease }) => lease),
      ),
    );
  }
}

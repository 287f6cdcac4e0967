import { within } from '../../kit/async/wait.ts';
import type { Clock } from '../../kit/ambient.ts';

export interface MemoryAccessOptions {
  readonly clock: Clock;
  /** Called with the first of consecutive failures. */
  readonly onTrouble: (error: unknown) => void;
}

/** Longest delay of a turn. */
const MAX_WAIT_MS = 250;
/** Without reads after one that failed: otherwise every turn would wait for a store that is gone. */
const PAUSE_MS = 5_000;

/** Access to stored values that a turn can do without. Nothing here rejects. */
export class MemoryAccess {
  readonly #options: MemoryAccessOptions;
  readonly #failing = new Set<'read' | 'write'>();
  #pausedAt: number | null = null;

  constructor(options: MemoryAccessOptions) {
    this.#options = options;
  }

  /** Null: the store failed or did not answer in time. */
  async read<Value>(query: () => Promise<Value>): Promise<Value | null> {
    if (this.#isPaused()) return null;
    const value = await this.#tried('read', async () => {
      const answer = await within(
        query().then((found) => ({ found })),
        MAX_WAIT_MS,
      );
      if (answer === null) throw new Error(`The store did not answer within ${MAX_WAIT_MS} ms.`);
      return answer.found;
    });
    this.#pausedAt = value === null ? this.#options.clock.now() : null;
    return value;
  }

  /** Null: the store failed. */
  write<Value>(query: () => Promise<Value>): Promise<Value | null> {
    return this.#tried('write', query);
  }

  async #tried<Value>(what: 'read' | 'write', query: () => Promise<Value>): Promise<Value | null> {
    try {
      const value = await query();
      this.#failing.delete(what);
      return value;
    } catch (error) {
      if (!this.#failing.has(what)) this.#options.onTrouble(error);
      this.#failing.add(what);
      return null;
    }
  }

  #isPaused(): boolean {
    if (this.#pausedAt === null) return false;
    const pausedMs = this.#options.clock.now() - this.#pausedAt;
    // The clock may have been set back.
    return pausedMs >= 0 && pausedMs < PAUSE_MS;
  }
}

import { within } from '../kit/async/within.ts';
import { insistently } from '../turns/insistently.ts';

export interface SettlementOptions {
  /** What a reservation used is not known to the store: the reserve counts as used. */
  readonly onLost: (error: unknown) => void;
}

/** While the database is away no reservation is made, so there are never more than turns that ran before. */
const MAX_WAITING = 10_000;
/** For what still waits when the server ends. */
const CLOSE_MS = 5_000;

/** Ends reservations in the background, again for a while if the database is away. */
export class Settlements {
  readonly #options: SettlementOptions;
  readonly #waiting = new Set<Promise<void>>();
  readonly #closed = new AbortController();

  constructor(options: SettlementOptions) {
    this.#options = options;
  }

  /** `work` can be repeated. */
  add(work: () => Promise<unknown>): void {
    if (this.#waiting.size >= MAX_WAITING) {
      this.#options.onLost(new Error('too many reservations wait to be settled'));
      return;
    }
    const doing = insistently(work, this.#closed.signal).then(
      () => undefined,
      (error: unknown) => this.#options.onLost(error),
    );
    this.#waiting.add(doing);
    void doing.then(() => this.#waiting.delete(doing));
  }

  /** Waits for what is under way, within a limit. */
  async close(): Promise<void> {
    const all = Promise.all(this.#waiting);
    await within(
      all.then(() => undefined),
      CLOSE_MS,
    );
    this.#closed.abort(new Error('the server ends'));
    await within(
      all.then(() => undefined),
      CLOSE_MS,
    );
  }
}

import { FairBudget } from '../../kit/collections/fair-budget.ts';

/** The unread bytes of one reader. */
export interface UnreadAccount {
  /** Adds unread bytes; a negative number removes them. */
  add(bytes: number): void;
}

export interface UnreadTotalOptions {
  readonly maxBytes: number;
  /** Called for larger changes only, for a gauge. */
  readonly onChange: (bytes: number) => void;
}

interface Reader {
  readonly key: string;
  readonly giveUp: () => void;
}

const REPORT_EVERY_BYTES = 1024 * 1024;

/** Limits the unread bytes of all turns together. Beyond the limit, the slowest reader of the key with the most is given up. */
export class UnreadTotal {
  readonly #options: UnreadTotalOptions;
  readonly #unread: FairBudget<Reader>;
  #reported = 0;

  constructor(options: UnreadTotalOptions) {
    this.#options = options;
    this.#unread = new FairBudget({ capacity: options.maxBytes, first: (own) => this.#slowest(own) });
  }

  /** `giveUp` must remove the unread bytes of this reader. */
  account(key: string, giveUp: () => void): UnreadAccount {
    const reader: Reader = { key, giveUp };
    return {
      add: (bytes) => {
        // Before these bytes are added: a single large event is allowed.
        if (bytes > 0 && this.#unread.total > this.#options.maxBytes) {
          for (const one of this.#unread.yieldingTo(reader, 0) ?? [reader]) one.giveUp();
        }
        if (bytes > 0) this.#unread.hold(reader, bytes);
        else this.#unread.release(reader, -bytes);
        this.#record();
      },
    };
  }

  #slowest(own: readonly Reader[]): Reader | undefined {
    return own.reduce<Reader | undefined>(
      (slowest, one) =>
        this.#unread.sizeOf(one) > (slowest ? this.#unread.sizeOf(slowest) : 0) ? one : slowest,
      undefined,
    );
  }

  #record(): void {
    const bytes = this.#unread.total;
    const change = Math.abs(bytes - this.#reported);
    if (change === 0 || (bytes > 0 && change < REPORT_EVERY_BYTES)) return;
    this.#reported = bytes;
    this.#options.onChange(bytes);
  }
}

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

interface Holder {
  bytes: number;
  readonly giveUp: () => void;
}

const REPORT_EVERY_BYTES = 1024 * 1024;

/** Limits the unread bytes of all turns together. Beyond the limit, the slowest reader is given up. */
export class UnreadTotal {
  readonly #options: UnreadTotalOptions;
  /** The readers with unread bytes. */
  readonly #unread = new Set<Holder>();
  #bytes = 0;
  #reported = 0;

  constructor(options: UnreadTotalOptions) {
    this.#options = options;
  }

  /** `giveUp` must remove the unread bytes of this reader. */
  account(giveUp: () => void): UnreadAccount {
    const holder: Holder = { bytes: 0, giveUp };
    return {
      add: (bytes) => {
        // Before these bytes are added: a single large event is allowed.
        if (bytes > 0 && this.#bytes > this.#options.maxBytes) this.#giveUpOnSlowest();
        const hadNothing = holder.bytes === 0;
        holder.bytes += bytes;
        this.#bytes += bytes;
        if (holder.bytes === 0) this.#unread.delete(holder);
        else if (hadNothing) this.#unread.add(holder);
        this.#record();
      },
    };
  }

  #giveUpOnSlowest(): void {
    let slowest: Holder | null = null;
    for (const holder of this.#unread) if (holder.bytes > (slowest?.bytes ?? 0)) slowest = holder;
    slowest?.giveUp();
  }

  #record(): void {
    const change = Math.abs(this.#bytes - this.#reported);
    if (change === 0 || (this.#bytes > 0 && change < REPORT_EVERY_BYTES)) return;
    this.#reported = this.#bytes;
    this.#options.onChange(this.#bytes);
  }
}

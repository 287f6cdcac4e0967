/** What one reader has not read yet, as part of what all have not. */
export interface UnreadAccount {
  /** So many bytes more wait, or fewer. */
  add(bytes: number): void;
}

export interface UnreadTotalOptions {
  readonly maxBytes: number;
  /** Told roughly: a gauge need not follow every delta. */
  readonly onChange: (bytes: number) => void;
}

interface Holder {
  bytes: number;
  readonly giveUp: () => void;
}

const TELL_EVERY_BYTES = 1024 * 1024;

/**
 * What all turns together may keep for readers who do not read. Beyond it, whoever is furthest behind is
 * given up on, so that those who read lose nothing.
 */
export class UnreadTotal {
  readonly #options: UnreadTotalOptions;
  /** Only those who have something unread. */
  readonly #unread = new Set<Holder>();
  #bytes = 0;
  #told = 0;

  constructor(options: UnreadTotalOptions) {
    this.#options = options;
  }

  /** `giveUp` must take what is unread off the account. */
  account(giveUp: () => void): UnreadAccount {
    const holder: Holder = { bytes: 0, giveUp };
    return {
      add: (bytes) => {
        // Before this: one large event is no reason yet, its reader may be about to take it.
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
    const isNews =
      this.#bytes === 0 ? this.#told > 0 : Math.abs(this.#bytes - this.#told) >= TELL_EVERY_BYTES;
    if (!isNews) return;
    this.#told = this.#bytes;
    this.#options.onChange(this.#bytes);
  }
}

import type { Clock } from '../kit/ambient.ts';
import type { KeyStore } from '../store/ports/keys.ts';

/** The last use of a key is written once in this time. */
const EVERY_MS = 60_000;
/** Keys in one write. */
const MAX_WRITTEN = 500;

/** When keys were used last. Requests only note it; it is written later, for many keys at once. */
export class KeyUses {
  readonly #store: Pick<KeyStore, 'used'>;
  readonly #clock: Clock;
  readonly #noted = new Map<string, number>();
  readonly #written = new Map<string, number>();

  constructor({ store, clock }: { readonly store: Pick<KeyStore, 'used'>; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  note(keyId: string): void {
    this.#noted.set(keyId, this.#clock.now());
  }

  /** Writes what is due. If that fails, it is due the next time again. */
  async flush(isLast = false): Promise<void> {
    const due = [...this.#noted]
      .filter(([id, at]) => isLast || at - (this.#written.get(id) ?? 0) >= EVERY_MS)
      .slice(0, MAX_WRITTEN);
    if (due.length === 0) return;
    await this.#store.used(due.map(([id, at]) => ({ id, at })));
    for (const [id, at] of due) {
      this.#written.set(id, at);
      if (this.#noted.get(id) === at) this.#noted.delete(id);
    }
  }
}

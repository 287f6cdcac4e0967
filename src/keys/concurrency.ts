import { gatewayError } from '../canonical/failure/failure.ts';

/** Counts the turns of keys on this instance, those that wait for a slot too. */
export class KeyConcurrency {
  readonly #running = new Map<string, number>();

  /** Throws if the key would have more than `max` turns. Returns a function that ends these; it is idempotent. */
  enter(keyId: string, turns: number, max: number): () => void {
    const running = this.#running.get(keyId) ?? 0;
    if (running + turns > max) {
      throw gatewayError('concurrency_limit', {
        message: `This key runs at most ${max} ${max === 1 ? 'turn' : 'turns'} at the same time: ${running} ${running === 1 ? 'is' : 'are'} running or waiting, and this request needs ${turns}.`,
        retryAfterSeconds: 1,
      });
    }
    this.#running.set(keyId, running + turns);
    let isLeft = false;
    return () => {
      if (isLeft) return;
      isLeft = true;
      const left = (this.#running.get(keyId) ?? turns) - turns;
      if (left > 0) this.#running.set(keyId, left);
      else this.#running.delete(keyId);
    };
  }
}

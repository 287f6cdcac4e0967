import type { TurnObserver } from '../observe/observer.ts';

/** What a run gives back when its last turn has ended. */
export class Owned {
  readonly #releases: (() => void)[] = [];
  readonly #released = Promise.withResolvers<void>();

  get released(): Promise<void> {
    return this.#released.promise;
  }

  add(release: () => void): void {
    this.#releases.push(release);
  }

  release(): void {
    for (const release of this.#releases.splice(0)) release();
    this.#released.resolve();
  }

  /** Watches so many turns, and releases everything after the last one. */
  until(turns: number): TurnObserver {
    let left = turns;
    return {
      onEnd: () => {
        left -= 1;
        if (left === 0) this.release();
      },
    };
  }
}

import type { OnChange, ResponseChange } from './store.ts';

/** The functions that wait for changes of responses. */
export class Watchers {
  readonly #all = new Set<OnChange>();

  add(onChange: OnChange): () => void {
    // The same function may watch twice.
    const watcher: OnChange = (responseId, what) => onChange(responseId, what);
    this.#all.add(watcher);
    return () => void this.#all.delete(watcher);
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  wake(responseId: string, what: ResponseChange): void {
    for (const watcher of this.#all) watcher(responseId, what);
  }
}

/** The functions that wait for changes of responses. */
export class Watchers {
  readonly #all = new Set<(responseId: string) => void>();

  add(onChange: (responseId: string) => void): () => void {
    // The same function may watch twice.
    const watcher = (responseId: string): void => onChange(responseId);
    this.#all.add(watcher);
    return () => void this.#all.delete(watcher);
  }

  wake(responseId: string): void {
    for (const watcher of this.#all) watcher(responseId);
  }
}

import type { OnChange, ResponseChange } from '../../../store/store.ts';

/** What the ids of sessions begin with. */
export const SESSION_PREFIX = 'asess';

/** Tells about changes of sessions, on whichever instance they were made. */
export class SessionWatch {
  readonly #listeners = new Map<string, Set<(what: ResponseChange) => void>>();
  readonly #stop: () => void;

  /** `onAny` is called when the state of a session may have changed; with `*` if that of any may have. */
  constructor(watch: (onChange: OnChange) => () => void, onAny: (id: string) => void) {
    this.#stop = watch((id, what) => {
      if (id === '*') for (const one of this.#listeners.keys()) this.#tell(one, 'status');
      else this.#tell(id, what);
      if (what === 'status' && (id === '*' || id.startsWith(SESSION_PREFIX))) onAny(id);
    });
  }

  on(id: string, listener: (what: ResponseChange) => void): () => void {
    const listeners = this.#listeners.get(id) ?? new Set();
    this.#listeners.set(id, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id);
    };
  }

  close(): void {
    this.#stop();
  }

  #tell(id: string, what: ResponseChange): void {
    for (const listener of this.#listeners.get(id) ?? []) listener(what);
  }
}

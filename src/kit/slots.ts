/** So many at once: the others wait in line, first come, first served. */
export class Slots {
  #free: number;
  readonly #line = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Who is told to go while waiting leaves the line. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#free += 1;
      this.#letIn();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<void>();
    const leave = (): void => {
      this.#line.delete(turn.resolve);
      turn.reject(signal.reason);
    };
    this.#line.add(turn.resolve);
    signal.addEventListener('abort', leave, { once: true });
    this.#letIn();
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #letIn(): void {
    for (const enter of this.#line) {
      if (this.#free === 0) return;
      this.#free -= 1;
      this.#line.delete(enter);
      enter();
    }
  }
}

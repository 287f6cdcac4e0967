import { FairLine } from './fair-line.ts';

interface Waiter {
  readonly key: string;
  readonly enter: () => void;
}

/** Limits concurrency. Waiting keys take turns; within a key, the order is first in, first out. */
export class Slots {
  #free: number;
  #waiting = 0;
  readonly #line = new FairLine<Waiter>();

  constructor(count: number) {
    this.#free = count;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** An entry that is aborted while it waits leaves the queue. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal, key = ''): Promise<T> {
    await this.#enter(signal, key);
    try {
      return await work();
    } finally {
      this.#free += 1;
      this.#letIn();
    }
  }

  async #enter(signal: AbortSignal, key: string): Promise<void> {
    signal.throwIfAborted();
    const turn = Promise.withResolvers<void>();
    const waiter: Waiter = { key, enter: turn.resolve };
    const leave = (): void => {
      this.#line.leave(key, waiter);
      turn.reject(signal.reason);
    };
    this.#line.join(key, waiter);
    this.#waiting += 1;
    signal.addEventListener('abort', leave, { once: true });
    this.#letIn();
    try {
      await turn.promise;
    } finally {
      this.#waiting -= 1;
      signal.removeEventListener('abort', leave);
    }
  }

  #letIn(): void {
    while (this.#free > 0) {
      const [next] = this.#line.heads();
      if (next === undefined) return;
      this.#free -= 1;
      this.#line.serve(next.key, next);
      next.enter();
    }
  }
}

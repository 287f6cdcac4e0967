/**
 * Callers that wait for a worker. Every wait ends: admitted, rejected, aborted by its signal, or timed out.
 */
export interface LeaseQueue<T> {
  wait(signal: AbortSignal, waitMs: number, onTimeout: () => Error): Promise<T>;
  /** Each caller gets its own value. */
  admit(make: () => T): void;
  dismiss(error: Error): void;
}

interface Waiter<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

export const createWaitingRoom = <T>(): LeaseQueue<T> => {
  const waiters = new Set<Waiter<T>>();

  const empty = (): readonly Waiter<T>[] => {
    const all = [...waiters];
    waiters.clear();
    return all;
  };

  return {
    wait: (signal, waitMs, onTimeout) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const leave = (): void => {
          waiters.delete(waiter);
          clearTimeout(timer);
          signal.removeEventListener('abort', giveUp);
        };
        const waiter: Waiter<T> = {
          resolve: (value) => {
            leave();
            resolve(value);
          },
          reject: (error) => {
            leave();
            reject(error);
          },
        };
        const giveUp = (): void => waiter.reject(signal.reason);
        const timer = setTimeout(() => waiter.reject(onTimeout()), waitMs);
        signal.addEventListener('abort', giveUp);
        waiters.add(waiter);
      }),
    admit: (make) => {
      for (const waiter of empty()) waiter.resolve(make());
    },
    dismiss: (error) => {
      for (const waiter of empty()) waiter.reject(error);
    },
  };
};

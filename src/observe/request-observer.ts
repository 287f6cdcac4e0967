import type { DistributedTrace } from '../canonical/context/trace.ts';
import type { RequestEnd, RequestNotes, StartedRequest } from './request-end.ts';

/** Follows one request. */
export interface RequestWatch {
  /** Where it is in a distributed trace; absent: this observer has none. */
  readonly distributed?: DistributedTrace | null;
  /** More is known about it. */
  note?(notes: RequestNotes): void;
  /** Once, when it is over. */
  end?(end: RequestEnd): void;
}

/**
 * Watches requests: for usage, the request log and tracing. A background response is watched twice: its request, which
 * ends at once, and its run, which has the turn. Must be fast: every request waits for it.
 */
export interface RequestObserver {
  /** Null: the request is of no interest. */
  open(request: StartedRequest): RequestWatch | null;
}

/** One observer for several. What one of them throws is reported, and the others go on. */
export const allObservers = (
  observers: readonly RequestObserver[],
  onError: (error: unknown) => void,
): RequestObserver => {
  const shielded = <Result>(call: () => Result): Result | null => {
    try {
      return call();
    } catch (error) {
      onError(error);
      return null;
    }
  };
  return {
    open(request) {
      const watches = observers.flatMap((observer) => shielded(() => observer.open(request)) ?? []);
      return {
        distributed: watches.find(({ distributed }) => distributed != null)?.distributed ?? null,
        note(notes) {
          for (const watch of watches) shielded(() => watch.note?.(notes));
        },
        end(end) {
          for (const watch of watches) shielded(() => watch.end?.(end));
        },
      };
    },
  };
};

import type { DistributedTrace, TraceContext } from '../canonical/context/trace.ts';
import type { AccessFacts } from './access-log.ts';

/** A request as it arrives, whatever it came over. */
export interface StartedRequest {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, such as `/v1/models/:id`. */
  readonly route: string;
  /** Milliseconds since the Unix epoch. */
  readonly startedAt: number;
  /** The response that runs without its client; null: a request that a client waits for. */
  readonly backgroundId: string | null;
  /** The distributed trace that it belongs to; absent or null: none. */
  readonly traceContext?: TraceContext | null;
}

/** Follows one request. */
export interface RequestWatch {
  /** Where it is in a distributed trace; absent: this observer has none. */
  readonly distributed?: DistributedTrace | null;
  /** More is known about it. */
  note?(facts: Partial<AccessFacts>): void;
  /** Once, with everything that is known about it. */
  end?(facts: AccessFacts): void;
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
        note(facts) {
          for (const watch of watches) shielded(() => watch.note?.(facts));
        },
        end(facts) {
          for (const watch of watches) shielded(() => watch.end?.(facts));
        },
      };
    },
  };
};

import { gatewayError } from '../canonical/failure.ts';
import type { Clock } from '../kit/ambient.ts';
import { Gate, type Pass } from '../kit/gate.ts';

/** How large the bodies of all requests in work may be together. */
export interface BodyBudget {
  /** Nothing is held yet. */
  open(caller: string, signal: AbortSignal): HeldBytes;
}

/** What the body of one request holds of the budget, until it is let go. */
export interface HeldBytes {
  readonly caller: string;
  /** How much it holds now. */
  readonly bytes: number;
  /** Before a body is read: waits until there is room for it, or throws that there is none. */
  reserve(bytes: number): Promise<void>;
  /** As bytes arrive that nobody had announced. They do not wait: those who wait would hold what others wait for. */
  grow(bytes: number): void;
  /** The request is over. May be said more than once, also while it still waits. */
  letGo(): void;
}

export interface BodyBudgetOptions {
  readonly maxBytes: number;
  readonly waitMs: number;
  readonly clock: Clock;
  readonly onChange: (bytes: number) => void;
  readonly onRefused: () => void;
}

/** A body that waits is not read, and costs a connection. */
const WAITING_FACTOR = 4;

export const createBodyBudget = (options: BodyBudgetOptions): BodyBudget => {
  const gate = new Gate({
    capacity: options.maxBytes,
    maxWaiting: options.maxBytes * WAITING_FACTOR,
    waitMs: options.waitMs,
    // A conversation does not wait for somebody else's films.
    whenFirstDoesNotFit: 'overtakes',
    clock: options.clock,
    refuse(_, retryAfterSeconds) {
      options.onRefused();
      return gatewayError('server_overloaded', {
        message: 'The requests that are in work are too large together. Please try again later.',
        retryAfterSeconds,
      });
    },
    onChange: ({ inside }) => options.onChange(inside),
  });
  return {
    open(caller, signal) {
      let pass: Pass | null = null;
      let held = 0;
      let isOver = false;
      return {
        caller,
        get bytes() {
          return held;
        },
        async reserve(bytes) {
          pass = await gate.enter(caller, bytes, signal);
          if (isOver) pass.leave();
          else held = bytes;
        },
        grow(bytes) {
          if (isOver) return;
          pass?.grow(bytes);
          held += bytes;
        },
        letGo() {
          isOver = true;
          held = 0;
          pass?.leave();
        },
      };
    },
  };
};

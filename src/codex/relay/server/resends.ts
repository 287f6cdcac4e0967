import { setTimeout as sleep } from 'node:timers/promises';

import type { RetryReason } from '../../../canonical/context/model-budget.ts';
import { ANY_ROUTE, type SendRoute, type TransportName } from '../transport/model-transport.ts';
import { nextRoute, type ResendReason } from '../transport/next-route.ts';
import type { ForwardOptions, ModelCall, RelayedRequest } from './relayed-request.ts';

/** Retries of a request that failed before its answer began. */
const RETRIES = 2;
const RETRY_DELAY_MS = 150;
/** After a failure that took longer than this, a retry would take too long for the client. */
const RETRY_WITHIN_MS = 30_000;

interface Resend {
  /** A code or status, for the log. */
  readonly cause: string;
  readonly reason: ResendReason;
  readonly error?: unknown;
  /** The pause before it; at least a moment, longer after each attempt. Null: none. */
  readonly pauseMs?: number | null;
}

/** Whether one request is sent again, and how. */
export class Resends {
  readonly #relayed: RelayedRequest;
  readonly #call: ModelCall | null;
  readonly #options: ForwardOptions;
  readonly #startedAt: number;
  /** codex itself retries its other requests. */
  #left: number;
  #count = 0;
  route: SendRoute = ANY_ROUTE;
  /** The transport of the last attempt. */
  used: TransportName = 'http';

  constructor(relayed: RelayedRequest, call: ModelCall | null, options: ForwardOptions) {
    this.#relayed = relayed;
    this.#call = call;
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#left = relayed.purpose === 'model' ? RETRIES : 0;
  }

  /** How long a failure may still be retried. */
  get timeLeftMs(): number {
    return this.#hasLeft ? RETRY_WITHIN_MS - (this.#options.clock.now() - this.#startedAt) : 0;
  }

  /** Whether it may be sent again after a failure of the backend. */
  mayRetry(reason: RetryReason): boolean {
    return this.timeLeftMs > 0 && this.#call?.budget.retry(reason) !== false;
  }

  /** The same if nothing of an answer has arrived. If its begin is watched, that limits the wait. */
  mayResend(reason: RetryReason): boolean {
    return this.#call === null || this.#options.firstEventTimeoutMs === null
      ? this.mayRetry(reason)
      : this.#hasLeft && this.#call.budget.retry(reason);
  }

  async prepare({ cause, reason, error, pauseMs = 0 }: Resend): Promise<'again'> {
    const waitMs = pauseMs === null ? 0 : Math.max(this.#jittered, pauseMs);
    this.#left -= 1;
    this.#count += 1;
    this.#call?.requestSpan.end({ retry: reason });
    this.#options.onRetry(cause, reason, this.used);
    this.route = nextRoute(this.route, this.used, error);
    // If aborted while waiting, the next attempt fails.
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: this.#relayed.signal }).catch(() => {});
    return 'again';
  }

  get #hasLeft(): boolean {
    return this.#left > 0 && this.#call?.budget.isLimitReached !== true;
  }

  get #jittered(): number {
    return RETRY_DELAY_MS * 2 ** this.#count * (0.5 + Math.random());
  }
}

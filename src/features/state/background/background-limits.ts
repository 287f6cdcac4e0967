import { type GatewayError } from '../../../canonical/failure/failure.ts';
import type { Clock } from '../../../kit/ambient.ts';
import { Limiter } from '../../../kit/async/limiter.ts';
import { stateError } from '../failures.ts';

export interface BackgroundLimitsOptions {
  /** Of all callers. */
  readonly maxResponses: number;
  readonly maxBytes: number;
  /** How long a caller with less than its share waits for a place. */
  readonly waitMs: number;
  /** Whether the last place is for this caller, too. */
  readonly isAdmin: (caller: string) => boolean;
  readonly clock: Clock;
  readonly onRefused: () => void;
}

const RETRY_SECONDS = 10;

/**
 * Limits the background responses that wait and run. Their clients do not wait, so nothing else limits their number. One
 * with a large request counts as several. One that was accepted is never dropped: a caller with less than its share waits
 * until another one has ended.
 */
export class BackgroundLimits {
  readonly #places: Limiter;
  /** The bytes of a place. */
  readonly #place: number;
  readonly #maxResponses: number;

  constructor({ maxResponses, maxBytes, onRefused, ...options }: BackgroundLimitsOptions) {
    this.#maxResponses = maxResponses;
    this.#place = Math.max(1, Math.floor(maxBytes / maxResponses));
    const capacity = this.#place * maxResponses;
    this.#places = new Limiter({
      ...options,
      capacity,
      place: this.#place,
      maxWaiting: capacity,
      onlyShareWaits: true,
      onChange() {},
      refuse(why) {
        onRefused();
        return refusal(why === 'share' ? 'of this API key' : 'on this server');
      },
    });
  }

  /** How many more responses of any caller may wait and run. */
  get free(): number {
    const free = Math.floor(this.#places.free / this.#place);
    return this.#maxResponses === 1 ? free : Math.max(0, free - 1);
  }

  /** Rejects if there is no room. Call the result, once, when the response has ended. */
  async enter(caller: string, bytes: number, signal: AbortSignal): Promise<() => void> {
    const permit = await this.#places.enter(caller, Math.max(this.#place, bytes), signal);
    return () => permit.leave();
  }
}

const refusal = (whose: string): GatewayError =>
  stateError('background_limit', {
    message: `Too many background responses ${whose} are waiting or running, or their requests are too large in total. Please try again later.`,
    retryAfterSeconds: RETRY_SECONDS,
  });

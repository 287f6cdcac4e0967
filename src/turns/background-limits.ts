import { gatewayError, type GatewayError } from '../canonical/failure/failure.ts';

export interface BackgroundLimitsOptions {
  /** Of all callers. */
  readonly maxResponses: number;
  readonly maxBytes: number;
  /** The largest part of both that one caller may have now. */
  readonly part: () => number;
  readonly onRefused: () => void;
}

interface Held {
  readonly responses: number;
  readonly bytes: number;
}

const NOTHING: Held = { responses: 0, bytes: 0 };

/** Limits the background responses that wait and run. Their clients do not wait, so nothing else limits their number. */
export class BackgroundLimits {
  readonly #options: BackgroundLimitsOptions;
  readonly #held = new Map<string, Held>();
  #total = NOTHING;

  constructor(options: BackgroundLimitsOptions) {
    this.#options = options;
  }

  /** How many more responses may wait and run. */
  get free(): number {
    return Math.max(0, this.#options.maxResponses - this.#total.responses);
  }

  /** Throws if there is no room. Call the result, once, when the response has ended. */
  enter(caller: string, bytes: number): () => void {
    const { maxResponses, maxBytes } = this.#options;
    const part = this.#options.part();
    const whole = { responses: maxResponses, bytes: maxBytes };
    const share = { responses: Math.max(1, Math.floor(maxResponses * part)), bytes: maxBytes * part };
    const more = { responses: 1, bytes };
    const own = this.#held.get(caller) ?? NOTHING;
    if (!fits(plus(this.#total, more), whole)) throw this.#refusal('on this server');
    if (!fits(plus(own, more), share)) throw this.#refusal('of this API key');
    this.#add(caller, more);
    return () => this.#add(caller, { responses: -1, bytes: -bytes });
  }

  #add(caller: string, more: Held): void {
    this.#total = plus(this.#total, more);
    const own = plus(this.#held.get(caller) ?? NOTHING, more);
    if (own.responses === 0) this.#held.delete(caller);
    else this.#held.set(caller, own);
  }

  #refusal(whose: string): GatewayError {
    this.#options.onRefused();
    return gatewayError('background_limit', {
      message: `Too many background responses ${whose} are waiting or running, or their requests are too large in total. Please try again later.`,
      retryAfterSeconds: RETRY_SECONDS,
    });
  }
}

const RETRY_SECONDS = 10;

const plus = (a: Held, b: Held): Held => ({ responses: a.responses + b.responses, bytes: a.bytes + b.bytes });

/** A single response may be as large as a body may be. */
const fits = ({ responses, bytes }: Held, limit: Held): boolean =>
  responses === 1 || (responses <= limit.responses && bytes <= limit.bytes);

import { failure, type Failure } from '../failure/failure.ts';

/**
 * Limits the model requests of one answer. Several loops send model requests (retries, forced calls, repairs, MCP
 * tools), and separate limits would multiply. So all of them share one budget.
 */
export class ModelBudget {
  readonly #onExceeded: () => void;
  #limit: number;
  #used = 0;
  #isReported = false;

  /** `onExceeded` is called once, when the answer ends because of the limit. */
  constructor(limit: number, onExceeded: () => void = () => {}) {
    this.#limit = limit;
    this.#onExceeded = onExceeded;
  }

  get used(): number {
    return this.#used;
  }

  /** True if no further model request may be sent. */
  get isLimitReached(): boolean {
    return this.#used >= this.#limit;
  }

  /** Counts a model request before it is sent. Returns false if it must not be sent. */
  take(): boolean {
    if (this.isLimitReached) return false;
    this.#used += 1;
    return true;
  }

  /** Allows one more request, because the client has sent new input. */
  grant(): void {
    this.#limit += 1;
  }

  /** The failure that ends the answer. */
  exceeded(): Failure {
    if (!this.#isReported) this.#onExceeded();
    this.#isReported = true;
    return failure('model_request_limit_exceeded', {
      message: `This answer reached the limit of ${this.#used} model requests (PROXY_MAX_MODEL_REQUESTS) and is still incomplete.`,
    });
  }
}

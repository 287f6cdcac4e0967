import { failure, type Failure } from '../failure/failure.ts';

/**
 * How many model requests one answer may cost. Loops that ask a model again are in several places (retries, forced
 * calls, repairs, tools of MCP servers), and their limits would multiply: so each answer has one budget, which travels
 * with its request, and whoever sends a model request takes it from there.
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

  /** No further model request may be sent. */
  get isLimitReached(): boolean {
    return this.#used >= this.#limit;
  }

  /** Counts a model request that is about to be sent; false: it must not be sent. */
  take(): boolean {
    if (this.isLimitReached) return false;
    this.#used += 1;
    return true;
  }

  /** Room for one more, because the client has sent something new. */
  grant(): void {
    this.#limit += 1;
  }

  /** Why the answer ends here. */
  exceeded(): Failure {
    if (!this.#isReported) this.#onExceeded();
    this.#isReported = true;
    return failure('model_request_limit_exceeded', {
      message: `This answer reached the limit of ${this.#used} model requests (PROXY_MAX_MODEL_REQUESTS) and is still incomplete.`,
    });
  }
}

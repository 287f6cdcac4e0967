import type { Clock } from '../../kit/ambient.ts';
import { failure, type Failure } from '../failure/failure.ts';

export interface BudgetOptions {
  /** Called once, when the answer ends because of the limit. */
  readonly onExceeded?: () => void;
  /** Called for each retry. */
  readonly onRetry?: (retry: Retry) => void;
  readonly clock?: Clock;
}

/** Something is asked for again. */
export interface Retry {
  readonly reason: RetryReason;
  /** 1 for the first retry of the answer, whatever its reason. */
  readonly count: number;
  /** False: the limit of retries is reached, and it is not asked for again. */
  readonly isAllowed: boolean;
  /** Since the budget was opened. */
  readonly afterMs: number;
}

export type RetryReason =
  /** The app-server died. */
  | 'worker lost'
  /** The tokens of the login were replaced while the turn began. */
  | 'login renewed'
  /** The backend rejected the request, and there is another way to write it. */
  | 'request rejected'
  /** The backend rejected a field, which is then left out. */
  | 'field rejected'
  | 'reasoning rejected'
  | 'effort rejected'
  | 'no connection'
  /** The answer did not begin in time. */
  | 'no first event'
  | 'backend overloaded'
  /** The backend was asked for a compaction and made none. */
  | 'no compaction'
  | 'no short answer'
  | 'forced call missing'
  /** Arguments of a call break the schema of its tool. */
  | 'invalid arguments'
  /** A call of a tool that was not declared. */
  | 'unknown tool';

/** More than any single loop takes: rejected fields (8) and ways to write a request (6), with a lost worker or two. */
export const MAX_RETRIES = 20;
/** A retry does not start later than this: the client has waited long enough. */
export const RETRY_WITHIN_MS = 30 * 60_000;

/** What the model may write in one answer, in characters. The longest answers of today's models have 2 MB. */
export const MAX_ANSWER_CHARS = 32 * 1024 * 1024;

/**
 * Limits the model requests, the retries and the text of one answer. Several loops ask a model again (lost workers, rejected
 * requests, forced calls, repairs, MCP tools), and separate limits would multiply. So all of them share one budget.
 */
export class ModelBudget {
  readonly #options: BudgetOptions;
  #openedAt: number;
  #limit: number;
  #used = 0;
  #retries = 0;
  #written = 0;
  #isReported = false;

  constructor(limit: number, options: BudgetOptions = {}) {
    this.#limit = limit;
    this.#options = options;
    this.#openedAt = this.#now();
  }

  get used(): number {
    return this.#used;
  }

  /** How many retries have begun. */
  get retries(): number {
    return this.#retries;
  }

  /** Sets the limit of a run, which may be another than that of one answer. */
  limitTo(limit: number): void {
    this.#limit = limit;
  }

  /** A further request of the same run begins: its retries count anew. */
  nextRequest(): void {
    this.#retries = 0;
    this.#openedAt = this.#now();
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

  /** Counts a retry that is about to begin; false: it must not begin. */
  retry(reason: RetryReason): boolean {
    const afterMs = this.#now() - this.#openedAt;
    const isAllowed = this.#retries < MAX_RETRIES && afterMs < RETRY_WITHIN_MS;
    if (isAllowed) this.#retries += 1;
    this.#options.onRetry?.({ reason, count: this.#retries, isAllowed, afterMs });
    return isAllowed;
  }

  /** Counts what the model has written. Returns false if the answer must end. */
  write(chars: number): boolean {
    this.#written += chars;
    return this.#written <= MAX_ANSWER_CHARS;
  }

  /** The failure that ends the answer. */
  exceeded(): Failure {
    if (!this.#isReported) this.#options.onExceeded?.();
    this.#isReported = true;
    return failure('model_request_limit_exceeded', {
      message: `This answer reached the limit of ${this.#used} model requests (PROXY_MAX_MODEL_REQUESTS) and is still incomplete.`,
    });
  }

  #now(): number {
    return this.#options.clock?.now() ?? 0;
  }
}

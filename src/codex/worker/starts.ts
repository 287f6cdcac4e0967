import type { Clock } from '../../kit/ambient.ts';
import { afterFailure, afterLoss, type Backoff, NO_FAILURES } from './lifecycle.ts';

export interface StartsOptions {
  /** Starts one worker. */
  readonly start: () => Promise<void>;
  /** Whether there are too few workers. */
  readonly isWanted: () => boolean;
  readonly clock: Clock;
  readonly onFailed: (error: unknown, retryInMs: number) => void;
}

/** Starts workers one after the other while there are too few, with a delay after a failure. */
export class Starts {
  readonly #options: StartsOptions;
  #inProgress: Promise<void> | null = null;
  #retry: { readonly timer: NodeJS.Timeout; readonly atMs: number } | null = null;
  #backoff: Backoff = NO_FAILURES;
  #isOver = false;

  constructor(options: StartsOptions) {
    this.#options = options;
  }

  /** Rejects on failure: the caller decides whether that is final (see `failed`). */
  async first(): Promise<void> {
    this.#inProgress = this.#options.start().finally(() => {
      this.#inProgress = null;
    });
    await this.#inProgress;
  }

  /** Does nothing if a start is in progress or scheduled. */
  fill(): void {
    if (this.#inProgress !== null || this.#retry !== null || this.#isOver || !this.#options.isWanted())
      return;
    this.#inProgress = this.#options
      .start()
      .catch((error: unknown) => this.failed(error))
      .finally(() => {
        this.#inProgress = null;
        this.fill();
      });
  }

  failed(error: unknown): void {
    const { delayMs, backoff } = afterFailure(this.#backoff, this.#options.clock.now());
    this.#backoff = backoff;
    this.#retryIn(delayMs);
    this.#options.onFailed(error, delayMs);
  }

  /**
   * A worker was lost. Returns the delay until another is started; null: enough others serve, or one is
   * starting. If it was the last one, the delay of an earlier failed start is skipped.
   */
  lost({ readyForMs, wasLast }: { readonly readyForMs: number; readonly wasLast: boolean }): number | null {
    const now = this.#options.clock.now();
    const { delayMs, backoff } = afterLoss(this.#backoff, now, readyForMs);
    this.#backoff = backoff;
    if (this.#isOver || this.#inProgress !== null || !this.#options.isWanted()) return null;
    if (this.#retry !== null && !(wasLast && this.#retry.atMs > now + delayMs)) return null;
    this.#retryIn(delayMs);
    return delayMs;
  }

  secondsToRetry(): number {
    const atMs = this.#retry?.atMs ?? 0;
    return Math.max(1, Math.ceil((atMs - this.#options.clock.now()) / 1000));
  }

  /** Prevents further starts. Resolves when the current one has finished. */
  async end(): Promise<void> {
    this.halt();
    await Promise.allSettled([this.#inProgress]);
  }

  halt(): void {
    this.#isOver = true;
    this.#cancelRetry();
  }

  #retryIn(delayMs: number): void {
    this.#cancelRetry();
    if (this.#isOver) return;
    if (delayMs === 0) {
      this.fill();
      return;
    }
    const timer = setTimeout(() => {
      this.#retry = null;
      this.fill();
    }, delayMs);
    this.#retry = { timer, atMs: this.#options.clock.now() + delayMs };
  }

  #cancelRetry(): void {
    if (this.#retry !== null) clearTimeout(this.#retry.timer);
    this.#retry = null;
  }
}

import {
  afterCheck,
  type HealthProblem,
  isHung,
  isSilent,
  CHECKS_UNTIL_HUNG,
  type PingCheck,
} from './lifecycle.ts';
import type { Pulse } from './worker.ts';

export interface HealthWatchOptions {
  readonly pulse: Pulse;
  /** How long a worker may leave a ping unanswered. */
  readonly hangTimeoutMs: number;
  /** Called once when the worker is unusable. */
  readonly onUnhealthy: (healthProblem: HealthProblem) => void;
  /** Called if the worker is alive but a call of a turn timed out. */
  readonly onStuck: () => void;
}

/** How often to call `check`. */
export const checkEveryMs = (hangTimeoutMs: number): number => Math.max(1, hangTimeoutMs / CHECKS_UNTIL_HUNG);

/**
 * Watches whether one worker is alive. Output of its turns counts as a sign of life; a silent worker is
 * pinged. A process that hangs (stopped, traced, deadlocked) closes no pipe, so this is the only way to
 * detect it.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions;
  #idleTimer: PingCheck = { missedChecks: 0, received: -1 };
  #unanswered = 0;
  #isPinged = false;
  #isCheckingHome = false;
  #isOver = false;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  get isSilent(): boolean {
    return isSilent(this.#idleTimer);
  }

  check(): void {
    if (this.#isOver) return;
    const { pulse } = this.#options;
    const received = pulse.received();
    const isNew = received !== this.#idleTimer.received;
    this.#idleTimer = afterCheck(this.#idleTimer, { received, isPinged: this.#isPinged });
    if (isHung(this.#idleTimer)) {
      this.#end('hung');
      return;
    }
    if (!isNew && !this.#isPinged) void this.#ask();
    if (pulse.unanswered() > this.#unanswered) {
      this.#unanswered = pulse.unanswered();
      this.#options.onStuck();
    }
    void this.#checkHome();
  }

  /** Stops watching. */
  end(): void {
    this.#isOver = true;
  }

  async #ask(): Promise<void> {
    this.#isPinged = true;
    try {
      await this.#options.pulse.ask(2 * this.#options.hangTimeoutMs);
    } catch {
      // An error is an answer too. A lost connection is reported separately.
    } finally {
      this.#isPinged = false;
    }
  }

  async #checkHome(): Promise<void> {
    // Avoid piling up checks on an unresponsive file system.
    if (this.#isCheckingHome) return;
    this.#isCheckingHome = true;
    try {
      if (!(await this.#options.pulse.hasHome())) this.#end('home-gone');
    } catch {
      // Keep a working process if the check fails.
    } finally {
      this.#isCheckingHome = false;
    }
  }

  #end(healthProblem: HealthProblem): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onUnhealthy(healthProblem);
  }
}

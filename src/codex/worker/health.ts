import {
  afterLook,
  type HealthProblem,
  isHung,
  isSilent,
  LOOKS_UNTIL_HUNG,
  type IdleTimer,
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

/** How often to call `look`. */
export const lookEveryMs = (hangTimeoutMs: number): number => Math.max(1, hangTimeoutMs / LOOKS_UNTIL_HUNG);

/**
 * Watches whether one worker is alive. Output of its turns counts as a sign of life; a silent worker is
 * pinged. A process that hangs (stopped, traced, deadlocked) closes no pipe, so this is the only way to
 * detect it.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions;
  #idleTimer: IdleTimer = { looks: 0, heard: -1 };
  #unanswered = 0;
  #isAsked = false;
  #isLookingAtHome = false;
  #isOver = false;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  get isSilent(): boolean {
    return isSilent(this.#idleTimer);
  }

  look(): void {
    if (this.#isOver) return;
    const { pulse } = this.#options;
    const heard = pulse.heard();
    const isNew = heard !== this.#idleTimer.heard;
    this.#idleTimer = afterLook(this.#idleTimer, { heard, isAsked: this.#isAsked });
    if (isHung(this.#idleTimer)) {
      this.#end('hung');
      return;
    }
    if (!isNew && !this.#isAsked) void this.#ask();
    if (pulse.unanswered() > this.#unanswered) {
      this.#unanswered = pulse.unanswered();
      this.#options.onStuck();
    }
    void this.#lookAtHome();
  }

  /** Stops watching. */
  end(): void {
    this.#isOver = true;
  }

  async #ask(): Promise<void> {
    this.#isAsked = true;
    try {
      await this.#options.pulse.ask(2 * this.#options.hangTimeoutMs);
    } catch {
      // An error is an answer too. A lost connection is reported separately.
    } finally {
      this.#isAsked = false;
    }
  }

  async #lookAtHome(): Promise<void> {
    // Avoid piling up checks on an unresponsive file system.
    if (this.#isLookingAtHome) return;
    this.#isLookingAtHome = true;
    try {
      if (!(await this.#options.pulse.hasHome())) this.#end('home-gone');
    } catch {
      // Keep a working process if the check fails.
    } finally {
      this.#isLookingAtHome = false;
    }
  }

  #end(healthProblem: HealthProblem): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.onUnhealthy(healthProblem);
  }
}

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
  /** How long a worker may be silent with a question open. */
  readonly hangTimeoutMs: number;
  /** It is of no use any more. Said once. */
  readonly onUnhealthy: (healthProblem: HealthProblem) => void;
  /** It lives, but a call of a turn came to nothing. */
  readonly onStuck: () => void;
}

/** How often `look` is to be called. */
export const lookEveryMs = (hangTimeoutMs: number): number => Math.max(1, hangTimeoutMs / LOOKS_UNTIL_HUNG);

/**
 * Whether one worker lives. What it says in its turns is a sign of life; if it says nothing it is asked. A process
 * that stands still (stopped, caught, in a deadlock) closes no pipe, so nothing else would tell.
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

  /** Nobody is interested any more. */
  end(): void {
    this.#isOver = true;
  }

  async #ask(): Promise<void> {
    this.#isAsked = true;
    try {
      await this.#options.pulse.ask(2 * this.#options.hangTimeoutMs);
    } catch {
      // A refusal is an answer too. One that was lost is told by the connection.
    } finally {
      this.#isAsked = false;
    }
  }

  async #lookAtHome(): Promise<void> {
    // A file system that does not answer is asked once, not once a second.
    if (this.#isLookingAtHome) return;
    this.#isLookingAtHome = true;
    try {
      if (!(await this.#options.pulse.hasHome())) this.#end('home-gone');
    } catch {
      // Not to know is no reason to end what works.
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

import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { UpstreamEvent } from '../../codex/sources/upstream-event.ts';
import { IdleTimer } from '../../kit/async/wait.ts';

export interface TurnWatchOptions {
  readonly idleTimeoutMs: number;
  /** A relay watches the backend itself; then this watches the app-server, which may be silent for longer. */
  readonly graceMs: number;
  readonly end: (failed: Failure) => void;
}

/** How long the app-server may take to report what it has read, when it is busy. */
export const REPORT_MS = 30_000;

/** Ends a turn when the backend or the app-server sends nothing for too long. */
export class TurnWatch {
  readonly #options: TurnWatchOptions;
  #idleTimer: IdleTimer | null = null;
  /** The answer has ended, and the app-server decides what follows. */
  #isAnswered = false;
  #runsTools = false;

  constructor(options: TurnWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#idleTimer = new IdleTimer(this.#openMs, () => this.#silent());
  }

  /** The app-server or the backend sent something. */
  heard(): void {
    this.#idleTimer?.heard();
  }

  /** The relay sends a model request: another answer follows. */
  sent(): void {
    this.#isAnswered = false;
    this.#idleTimer?.allow(this.#openMs);
  }

  wire(signal: UpstreamEvent): void {
    this.heard();
    if (signal.kind !== 'answer-ended') return;
    this.#isAnswered = true;
    this.#idleTimer?.allow(REPORT_MS);
  }

  /** The app-server runs tools, which may be silent for `maxMs`; null: no tool is running. */
  tools(maxMs: number | null): void {
    if (maxMs === null && !this.#runsTools) return;
    this.#runsTools = maxMs !== null;
    const usual = this.#isAnswered ? REPORT_MS : this.#openMs;
    this.#idleTimer?.allow(Math.max(maxMs ?? 0, usual));
  }

  stop(): void {
    this.#idleTimer?.stop();
  }

  get #openMs(): number {
    return this.#options.idleTimeoutMs + this.#options.graceMs;
  }

  #silent(): void {
    const message = `The upstream sent nothing for ${this.#options.idleTimeoutMs / 1000} s.`;
    this.#options.end(
      this.#isAnswered ? failure('upstream_error') : failure('upstream_timeout', { message }),
    );
  }
}

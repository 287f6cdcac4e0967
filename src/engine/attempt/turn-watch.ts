import { failure, type Failure } from '../../canonical/failure/failure.ts';
import type { UpstreamEvent } from '../../codex/sources/upstream-event.ts';
import { IdleTimer } from '../../kit/async/idle-timer.ts';

export interface TurnWatchOptions {
  /** How long the backend may be silent. */
  readonly idleTimeoutMs: number;
  /** A relay watches the backend itself; then this one watches the app-server. */
  readonly hasRelay: boolean;
  /** Nothing is to be hoped for. */
  readonly end: (failed: Failure) => void;
}

/** The app-server tells at once what it has read. It may be asked by many at once, or stand still. */
const TELL_MS = 30_000;

/**
 * Sees to it that a turn ends. How an answer ended is for the turn's source to say, and whether another one
 * follows is for the app-server; this is for what nobody says.
 */
export class TurnWatch {
  readonly #options: TurnWatchOptions;
  #idleTimer: IdleTimer | null = null;
  /** The answer is over, and it is the app-server's turn to say what comes next. */
  #isAnswered = false;
  #runsTools = false;

  constructor(options: TurnWatchOptions) {
    this.#options = options;
  }

  /** The turn runs. */
  start(): void {
    this.#idleTimer = new IdleTimer(this.#openMs, () => this.#silent());
  }

  /** The app-server said something, or the relay heard the backend. */
  heard(): void {
    this.#idleTimer?.heard();
  }

  /** The relay sends a model request: another answer is waited for. */
  sent(): void {
    this.#isAnswered = false;
    this.#idleTimer?.allow(this.#openMs);
  }

  wire(signal: UpstreamEvent): void {
    this.heard();
    if (signal.kind !== 'answer-ended') return;
    this.#isAnswered = true;
    this.#idleTimer?.allow(TELL_MS);
  }

  /** The app-server runs tools, which may take so long without a word; null: it runs none, or none any more. */
  tools(maxMs: number | null): void {
    if (maxMs === null && !this.#runsTools) return;
    this.#runsTools = maxMs !== null;
    const usual = this.#isAnswered ? TELL_MS : this.#openMs;
    this.#idleTimer?.allow(Math.max(maxMs ?? 0, usual));
  }

  stop(): void {
    this.#idleTimer?.stop();
  }

  get #openMs(): number {
    const { idleTimeoutMs, hasRelay } = this.#options;
    return hasRelay ? idleTimeoutMs + TELL_MS : idleTimeoutMs;
  }

  #silent(): void {
    const message = `The upstream sent nothing for ${this.#options.idleTimeoutMs / 1000} s.`;
    this.#options.end(
      this.#isAnswered ? failure('upstream_error') : failure('upstream_timeout', { message }),
    );
  }
}

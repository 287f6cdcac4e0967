import { failure, type Failure } from '../canonical/failure.ts';
import type { WireEvent } from '../codex/translate/wire-report.ts';
import { Silence } from '../kit/silence.ts';

export interface TurnWatchOptions {
  /** How long the backend may be silent. */
  readonly idleTimeoutMs: number;
  /** A relay watches the backend itself; then this one watches the app-server. */
  readonly hasRelay: boolean;
  /** Tool calls are let go: while they wait, the app-server keeps a bad end to itself. */
  readonly letCallsGo: () => void;
  readonly holdCalls: () => void;
  /** Nothing is to be hoped for. */
  readonly end: (failed: Failure) => void;
}

/** The app-server tells at once what it has read. It may be asked by many at once, or stand still. */
const TELL_MS = 30_000;
/** An answer that a relay saw completed and the app-server does not take, such as one with odd numbers. */
const TAKE_MS = 5_000;

/**
 * Sees to it that a turn ends. What the app-server says about the end counts; this is for what it does
 * not say: that a backend is silent, and that an answer with a call in it broke off behind the call.
 */
export class TurnWatch {
  readonly #options: TurnWatchOptions;
  #silence: Silence | null = null;
  /** Where the answer is: on its way; seen whole by the relay; or gone wrong, as the relay saw. */
  #answer: 'open' | 'completed' | 'broken' = 'open';

  constructor(options: TurnWatchOptions) {
    this.#options = options;
  }

  /** The turn runs. */
  start(): void {
    this.#silence = new Silence(this.#openMs, () => this.#silent());
  }

  /** The app-server said something, or the relay heard the backend. */
  heard(): void {
    this.#silence?.heard();
  }

  /** The relay sends a model request: another answer is waited for. */
  sent(): void {
    this.#answer = 'open';
    this.#silence?.allow(this.#openMs);
  }

  wire(event: WireEvent): void {
    this.heard();
    if (event.kind === 'answer-started') this.#options.holdCalls();
    if (event.kind !== 'answer-ended') return;
    if (event.how === 'completed') {
      this.#answer = 'completed';
      this.#silence?.allow(TAKE_MS);
    } else this.#broken();
  }

  stop(): void {
    this.#silence?.stop();
  }

  get #openMs(): number {
    const { idleTimeoutMs, hasRelay } = this.#options;
    return hasRelay ? idleTimeoutMs + TELL_MS : idleTimeoutMs;
  }

  #broken(): void {
    this.#answer = 'broken';
    this.#silence?.allow(TELL_MS);
    this.#options.letCallsGo();
  }

  #silent(): void {
    switch (this.#answer) {
      case 'open': {
        const message = `The upstream was silent for ${this.#options.idleTimeoutMs / 1000} s.`;
        this.#options.end(failure('upstream_timeout', { message }));
        return;
      }
      case 'completed':
        this.#broken();
        return;
      case 'broken':
        // The relay's own words about it go before these.
        this.#options.end(failure('upstream_error'));
    }
  }
}

import type { TurnObserver, TurnSummary } from '../observe/observer.ts';
import { bytesToTokens } from './estimate.ts';
import { addSpent, NOTHING_SPENT, spentOf, type Spent } from './spent.ts';

/** Adds up what the turns of a run use. */
export class RunMeter {
  /** The estimated input of a turn. */
  readonly #inputTokens: number;
  #spent: Spent = NOTHING_SPENT;
  #running = 0;
  #onIdle: (() => void) | null = null;

  constructor(inputTokens: number) {
    this.#inputTokens = inputTokens;
  }

  get spent(): Spent {
    return this.#spent;
  }

  /** For one turn. */
  watch(): TurnObserver {
    let chars = 0;
    let hasOutput = false;
    return {
      onStart: () => {
        this.#running += 1;
      },
      onEvent(event) {
        if (event.type === 'item-started') hasOutput = true;
        else if (event.type === 'item-delta') chars += event.delta.length;
      },
      onEnd: (summary) => {
        this.#spent = addSpent(this.#spent, this.#spentBy(summary, hasOutput, chars));
        this.#running -= 1;
        this.#tellIdle();
      },
    };
  }

  /** Calls the function when no turn runs, at once or later. */
  whenIdle(onIdle: () => void): void {
    this.#onIdle = onIdle;
    this.#tellIdle();
  }

  #tellIdle(): void {
    if (this.#running > 0 || this.#onIdle === null) return;
    this.#onIdle();
    this.#onIdle = null;
  }

  /** Without a usage it is estimated, unless the turn failed before its answer began. */
  #spentBy({ usage, ending }: TurnSummary, hasOutput: boolean, chars: number): Spent {
    if (usage !== null) return spentOf(usage);
    const hasFailed =
      ending.kind === 'thrown' || (ending.kind === 'ended' && ending.outcome.kind === 'failed');
    if (hasFailed && !hasOutput) return NOTHING_SPENT;
    return {
      turns: 1,
      inputTokens: this.#inputTokens,
      cachedInputTokens: 0,
      outputTokens: bytesToTokens(chars),
    };
  }
}

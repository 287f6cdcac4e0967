import { encryptedTokens } from '../canonical/tokens/countable.ts';
import type { TurnObserver, TurnSummary } from '../observe/observer.ts';
import { bytesToTokens } from './estimate.ts';
import { addSpent, NOTHING_SPENT, spentOf, type Spent } from './spent.ts';

export interface MeterOptions {
  /** The estimated input of a turn. */
  readonly inputTokens: number;
  /** How many of the turns have sent a model request so far. */
  readonly asked: () => number;
}

/** Adds up what the turns of a run use. */
export class RunMeter {
  readonly #options: MeterOptions;
  /** Of turns with a usage. */
  #reported: Spent = NOTHING_SPENT;
  /** The estimated output of turns without one. */
  readonly #unreported: number[] = [];
  #running = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** A turn without a usage is estimated, if its model was asked. */
  get spent(): Spent {
    const { inputTokens, asked } = this.#options;
    const estimated = this.#unreported
      .toSorted((one, other) => other - one)
      .slice(0, Math.max(0, asked() - this.#reported.turns))
      .map((outputTokens) => ({ turns: 1, inputTokens, cachedInputTokens: 0, outputTokens }));
    return estimated.reduce(addSpent, this.#reported);
  }

  /** For one turn. */
  watch(): TurnObserver {
    let chars = 0;
    let hidden = 0;
    let hasOutput = false;
    return {
      onStart: () => {
        this.#running += 1;
      },
      onEvent(event) {
        if (event.type === 'item-started') hasOutput = true;
        else if (event.type === 'item-delta') chars += event.delta.length;
        else if (event.type === 'item-ended' && event.item.kind === 'reasoning')
          hidden += encryptedTokens(event.item.encryptedContent ?? '');
      },
      onEnd: ({ usage, ending }) => {
        if (usage !== null) this.#reported = addSpent(this.#reported, spentOf(usage));
        else if (hasOutput || !hasFailed(ending)) this.#unreported.push(bytesToTokens(chars) + hidden);
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
}

/** A turn that failed before its answer began costs nothing. */
const hasFailed = (ending: TurnSummary['ending']): boolean =>
  ending.kind === 'thrown' || (ending.kind === 'ended' && ending.outcome.kind === 'failed');

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
  /** What parts of the turns have used that are settled. */
  #settled: Spent = NOTHING_SPENT;
  /** By turns that run. */
  readonly #written = new Set<Written>();
  #running = 0;
  #onIdle: (() => void) | null = null;

  constructor(options: MeterOptions) {
    this.#options = options;
  }

  /** Without the parts that are settled. A turn without a usage is estimated, if its model was asked. */
  get spent(): Spent {
    const { inputTokens, asked } = this.#options;
    const estimated = this.#unreported
      .toSorted((one, other) => other - one)
      .slice(0, Math.max(0, asked() - this.#reported.turns))
      .map((outputTokens) => ({ turns: 1, inputTokens, cachedInputTokens: 0, outputTokens }));
    return estimated.reduce(addSpent, without(this.#reported, this.#settled));
  }

  /** For one turn. */
  watch(): TurnObserver {
    const written: Written = { chars: 0, hiddenTokens: 0 };
    let hasOutput = false;
    return {
      onStart: () => {
        this.#running += 1;
        this.#written.add(written);
      },
      onEvent(event) {
        if (event.type === 'item-started') hasOutput = true;
        else if (event.type === 'item-delta') written.chars += event.delta.length;
        else if (event.type === 'item-ended' && event.item.kind === 'reasoning')
          written.hiddenTokens += encryptedTokens(event.item.encryptedContent ?? '');
      },
      onEnd: ({ usage, ending }) => {
        if (usage !== null) this.#reported = addSpent(this.#reported, spentOf(usage));
        else if (hasOutput || !hasFailed(ending))
          this.#unreported.push(bytesToTokens(written.chars) + written.hiddenTokens);
        this.#running -= 1;
        this.#written.delete(written);
        this.#tellIdle();
      },
    };
  }

  /** A part of the only turn has ended. What it has used is settled by itself: call the result with it. */
  endPart(): (used: Spent) => void {
    for (const written of this.#written) Object.assign(written, { chars: 0, hiddenTokens: 0 });
    return (used) => {
      this.#settled = addSpent(this.#settled, used);
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

/** What a turn has written so far, of its last part. */
interface Written {
  chars: number;
  hiddenTokens: number;
}

/** The turns are those of the last parts. */
const without = (all: Spent, settled: Spent): Spent => ({
  turns: all.turns,
  inputTokens: Math.max(0, all.inputTokens - settled.inputTokens),
  cachedInputTokens: Math.max(0, all.cachedInputTokens - settled.cachedInputTokens),
  outputTokens: Math.max(0, all.outputTokens - settled.outputTokens),
});

/** A turn that failed before its answer began costs nothing. */
const hasFailed = (ending: TurnSummary['ending']): boolean =>
  ending.kind === 'thrown' || (ending.kind === 'ended' && ending.outcome.kind === 'failed');

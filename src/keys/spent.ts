import type { Usage } from '../canonical/events/usage.ts';
import { costOf, type ModelPrice } from '../canonical/models/prices.ts';
import type { KeyLimit } from './key.ts';

/** What turns have used, or may use. */
export interface Spent {
  readonly turns: number;
  readonly inputTokens: number;
  /** Part of the input. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

export const NOTHING_SPENT: Spent = { turns: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };

export const addSpent = (one: Spent, other: Spent): Spent => ({
  turns: one.turns + other.turns,
  inputTokens: one.inputTokens + other.inputTokens,
  cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

/** What one turn has used. Tokens of an image model count like others. */
export const spentOf = ({ inputTokens, cachedInputTokens, outputTokens, images }: Usage): Spent => ({
  turns: 1,
  inputTokens: inputTokens + (images?.input.tokens ?? 0),
  cachedInputTokens,
  outputTokens: outputTokens + (images?.output.tokens ?? 0),
});

/** An amount of cost is counted in millionths of the currency. */
const MILLION = 1_000_000;

/** The maximum of a limit as the store counts it. */
export const maxOf = ({ unit, max }: KeyLimit): number =>
  Math.min(unit === 'cost' ? Math.round(max * MILLION) : max, Number.MAX_SAFE_INTEGER);

/** A counted amount as people write it. */
export const shownAmount = (unit: KeyLimit['unit'], amount: number): number =>
  unit === 'cost' ? amount / MILLION : amount;

/** How much of a limit was spent. `price` is that of the model, which a limit of the cost needs. */
export const amountOf = (unit: KeyLimit['unit'], spent: Spent, price: ModelPrice | null): number => {
  if (unit === 'requests') return spent.turns;
  const { inputTokens, outputTokens } = spent;
  const amount = unit === 'tokens' ? inputTokens + outputTokens : price === null ? 0 : costOf(price, spent);
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
};

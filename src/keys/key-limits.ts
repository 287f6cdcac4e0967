import { matchesPattern } from '../canonical/models/model-pattern.ts';
import { priceOf, type ModelPrice, type ModelPrices } from '../canonical/models/prices.ts';
import { gatewayError } from '../canonical/failure/failure.ts';
import type { LimitClaim } from '../store/ports/limits.ts';
import type { KeyLimit } from './key.ts';
import { windowAt } from './limit-window.ts';
import { amountOf, maxOf, type Spent } from './spent.ts';

/** Identifies a limit of a key. A changed maximum is the same limit. */
export const limitName = ({ unit, window, model }: Omit<KeyLimit, 'max'>): string =>
  `${unit}/${window}/${model ?? '*'}`;

/** The limits of a key that are about a model, by their names. Of two with the same name the lower one counts. */
export const limitsFor = (limits: readonly KeyLimit[], model: string): ReadonlyMap<string, KeyLimit> => {
  const found = new Map<string, KeyLimit>();
  for (const limit of limits) {
    if (limit.model !== null && !isAbout(limit.model, model)) continue;
    const name = limitName(limit);
    const other = found.get(name);
    if (other === undefined || limit.max < other.max) found.set(name, limit);
  }
  return found;
};

/** Some backends accept names in any case: another case must not get around a limit. */
const isAbout = (pattern: string, model: string): boolean =>
  matchesPattern(pattern.toLowerCase(), model.toLowerCase());

export const claimsOf = (
  limits: ReadonlyMap<string, KeyLimit>,
  spent: Spent,
  price: ModelPrice | null,
  now: number,
): readonly LimitClaim[] =>
  [...limits].map(([name, limit]) => ({
    name,
    max: maxOf(limit),
    amount: amountOf(limit.unit, spent, price),
    ...windowAt(limit.window, now),
  }));

/** Null: no limit needs it. Throws if a limit of the cost applies to a model without a price: it would be free. */
export const neededPrice = (
  limits: ReadonlyMap<string, KeyLimit>,
  prices: ModelPrices,
  { model, param }: { readonly model: string; readonly param: string },
): ModelPrice | null => {
  if (![...limits.values()].some(({ unit }) => unit === 'cost')) return null;
  const price = priceOf(prices, model);
  if (price !== null) return price;
  throw gatewayError('unsupported_value', {
    param,
    message: `This key has a limit of the cost, and the model '${model}' has no price. The operator of this server has to add one to \`prices\` in the config file.`,
  });
};

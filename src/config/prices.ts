import { z } from 'zod';

import type { ModelPrices } from '../canonical/models/prices.ts';
import { isJsonObject, type Json } from '../kit/json/json.ts';

const AMOUNT = z.number().min(0).max(1_000_000);

/** A price in the config file. Its JSON schema has the same fields. */
export const PRICE_FIELDS = z.strictObject({
  input: AMOUNT,
  /** Absent: as other input. */
  cached_input: AMOUNT.optional(),
  output: AMOUNT,
});

const MAX_PRICES = 1_000;

interface ReadPrices {
  readonly prices: ModelPrices;
  readonly problems: readonly string[];
}

/** The value of `prices` in the config file. */
export const readPrices = (value: Json | undefined): ReadPrices => {
  if (value === undefined) return { prices: {}, problems: [] };
  if (!isJsonObject(value)) {
    return { prices: {}, problems: ['prices: must be an object, as in docs/keys.md.'] };
  }
  const entries = Object.entries(value);
  const problems = entries.length > MAX_PRICES ? [`prices: has more than ${MAX_PRICES} models.`] : [];
  const prices = entries.slice(0, MAX_PRICES).flatMap(([model, entry]) => {
    const parsed = PRICE_FIELDS.safeParse(entry);
    if (parsed.success) {
      const { input, output, cached_input: cachedInput = input } = parsed.data;
      return [[model, { input, cachedInput, output }] as const];
    }
    problems.push(
      `prices: ${JSON.stringify(model.slice(0, 100))} must be an object with input, output and optionally cached_input: what a million tokens cost, from 0 to 1000000.`,
    );
    return [];
  });
  return { prices: Object.fromEntries(prices), problems };
};

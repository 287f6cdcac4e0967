import type { BilledTokens } from '../events/usage.ts';

/** Whether a name matches a pattern, in which `*` matches any text. Takes time in proportion to the lengths. */
export const matchesPattern = (pattern: string, name: string): boolean => {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
};

/** Of a million tokens, in any currency. */
export interface ModelPrice {
  readonly input: number;
  /** Of input that the backend had cached. */
  readonly cachedInput: number;
  readonly output: number;
}

/** By patterns of model names. */
export type ModelPrices = Readonly<Record<string, ModelPrice>>;

/** The price of the most specific pattern: the name itself, or else the longest. Null: the model has none. */
export const priceOf = (prices: ModelPrices, model: string): ModelPrice | null => {
  const [found] = Object.entries(prices)
    .filter(([pattern]) => matchesPattern(pattern, model))
    .toSorted(([one], [other]) => rank(other, model) - rank(one, model));
  return found?.[1] ?? null;
};

const rank = (pattern: string, model: string): number => (pattern === model ? Infinity : pattern.length);

/** In millionths of the currency, rounded up. */
export const costOf = ({ input, cachedInput, output }: ModelPrice, used: BilledTokens): number => {
  const cached = Math.min(used.cachedInputTokens, used.inputTokens);
  return Math.ceil((used.inputTokens - cached) * input + cached * cachedInput + used.outputTokens * output);
};

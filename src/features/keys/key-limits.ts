import type { Usage } from '../../canonical/events/usage.ts';
import { gatewayError, GatewayError } from '../../canonical/failure/failure.ts';
import {
  matchesPattern,
  costOf,
  priceOf,
  type ModelPrice,
  type ModelPrices,
} from '../../canonical/models/prices.ts';
import { assertNever } from '../../kit/assert-never.ts';
import { keyError } from './failures.ts';
import type { LimitClaim, LimitStore, CounterWindow } from './limit-store.ts';
import type { ApiKey, KeyLimit } from './key.ts';

/** Identifies a limit of a key. A changed maximum is the same limit. */
const limitName = ({ unit, window, model }: Omit<KeyLimit, 'max'>): string =>
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
  spent: Expense,
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

/** What turns have used, or may use. */
export interface Expense {
  readonly turns: number;
  readonly inputTokens: number;
  /** Part of the input. */
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
}

export const NOTHING_SPENT: Expense = { turns: 0, inputTokens: 0, cachedInputTokens: 0, outputTokens: 0 };

export const addSpent = (one: Expense, other: Expense): Expense => ({
  turns: one.turns + other.turns,
  inputTokens: one.inputTokens + other.inputTokens,
  cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
  outputTokens: one.outputTokens + other.outputTokens,
});

/** What one turn has used. Tokens of an image model count like others. */
export const spentOf = ({ inputTokens, cachedInputTokens, outputTokens, images }: Usage): Expense => ({
  turns: 1,
  inputTokens: inputTokens + (images?.input.tokens ?? 0),
  cachedInputTokens,
  outputTokens: outputTokens + (images?.output.tokens ?? 0),
});

/** An amount of cost is counted in millionths of the currency. */
const MILLION = 1_000_000;

/** The maximum of a limit as the store counts it. */
const maxOf = ({ unit, max }: KeyLimit): number =>
  Math.min(unit === 'cost' ? Math.round(max * MILLION) : max, Number.MAX_SAFE_INTEGER);

/** A counted amount as people write it. */
const shownAmount = (unit: KeyLimit['unit'], amount: number): number =>
  unit === 'cost' ? amount / MILLION : amount;

/** How much of a limit was spent. `price` is that of the model, which a limit of the cost needs. */
export const amountOf = (unit: KeyLimit['unit'], spent: Expense, price: ModelPrice | null): number => {
  if (unit === 'requests') return spent.turns;
  const { inputTokens, outputTokens } = spent;
  const amount = unit === 'tokens' ? inputTokens + outputTokens : price === null ? 0 : costOf(price, spent);
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

interface WindowTimes {
  /** When a window ends that begins now. */
  readonly resetsAt: number;
  /** The longest time of such a window. */
  readonly lengthMs: number;
}

/** Minutes, days and months are those of the UTC calendar. 5 hours and 7 days begin with the first use. */
export const windowAt = (window: KeyLimit['window'], now: number): WindowTimes => {
  switch (window) {
    case 'minute':
      return { resetsAt: nextMultiple(now, MINUTE_MS), lengthMs: MINUTE_MS };
    case 'day':
      return { resetsAt: nextMultiple(now, DAY_MS), lengthMs: DAY_MS };
    case 'month': {
      const date = new Date(now);
      return { resetsAt: Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1), lengthMs: 31 * DAY_MS };
    }
    case '5h':
      return { resetsAt: now + 5 * HOUR_MS, lengthMs: 5 * HOUR_MS };
    case '7d':
      return { resetsAt: now + 7 * DAY_MS, lengthMs: 7 * DAY_MS };
    default:
      return assertNever(window);
  }
};

const nextMultiple = (now: number, length: number): number => (Math.floor(now / length) + 1) * length;

/** OpenAI's clients wait for `retry-after` up to this long; for a longer one they retry after seconds. */
const LONGEST_RETRY_SECONDS = 60;

const WINDOW_WORDS: Readonly<Record<KeyLimit['window'], string>> = {
  minute: 'per minute',
  '5h': 'per 5 hours',
  day: 'per day',
  '7d': 'per 7 days',
  month: 'per month',
};

const UNIT_WORDS: Readonly<Record<KeyLimit['unit'], string>> = {
  tokens: 'tokens',
  requests: 'requests',
  cost: 'cost units',
};

/** 429 for a limit with too little left. `amount`: what the request may use. */
export const limitRefusal = (
  limit: KeyLimit,
  { used, resetsAt }: CounterWindow,
  { amount, now }: { readonly amount: number; readonly now: number },
): GatewayError => {
  const { unit, window, model } = limit;
  const shown = (counted: number): string => String(shownAmount(unit, counted));
  const isTooLarge = amount > maxOf(limit);
  const retryAfterSeconds = Math.max(1, Math.ceil((resetsAt - now) / 1_000));
  const at = new Date(resetsAt).toISOString();
  const models = model === null ? '' : ` for the models '${model}'`;
  const what = `${limit.max} ${UNIT_WORDS[unit]} ${WINDOW_WORDS[window]}${models}`;
  const message = isTooLarge
    ? `This request may use up to ${shown(amount)} ${UNIT_WORDS[unit]}, and this key may use at most ${what}. Send less input, or a lower limit for the output.`
    : `This key has reached its limit of ${what}: ${shown(used)} are used, and this request may use up to ${shown(amount)}. The limit resets at ${at}.`;
  const { failure: failed } = keyError('key_limit_exceeded', {
    message,
    ...(isTooLarge ? {} : { retryAfterSeconds }),
    more: { limit: { unit, window, model, max: limit.max, used: shownAmount(unit, used), resets_at: at } },
  });
  const isFinal = isTooLarge || retryAfterSeconds > LONGEST_RETRY_SECONDS;
  return new GatewayError(isFinal ? { ...failed, headers: { 'x-should-retry': 'false' } } : failed);
};

/** OpenAI's headers for the limits per minute, which some clients wait by. Of several limits the one with the least left. */
export const rateHeaders = (
  limits: ReadonlyMap<string, KeyLimit>,
  windows: ReadonlyMap<string, CounterWindow>,
  now: number,
): Readonly<Record<string, string>> =>
  Object.assign({}, headersOf('requests', limits, windows, now), headersOf('tokens', limits, windows, now));

const headersOf = (
  unit: 'requests' | 'tokens',
  limits: ReadonlyMap<string, KeyLimit>,
  windows: ReadonlyMap<string, CounterWindow>,
  now: number,
): Readonly<Record<string, string>> => {
  const [least] = [...limits]
    .filter(([, limit]) => limit.unit === unit && limit.window === 'minute')
    .flatMap(([name, { max }]) => {
      const window = windows.get(name);
      return window === undefined ? [] : [{ max, left: Math.max(0, max - window.used), ...window }];
    })
    .toSorted((one, other) => one.left - other.left);
  if (least === undefined) return {};
  return {
    [`x-ratelimit-limit-${unit}`]: String(least.max),
    [`x-ratelimit-remaining-${unit}`]: String(least.left),
    [`x-ratelimit-reset-${unit}`]: `${Math.max(0, Math.ceil((least.resetsAt - now) / 1_000))}s`,
  };
};

/** A limit of a key and its window, as the API shows it. Times are seconds since the Unix epoch. */
export interface LimitStatus extends KeyLimit {
  readonly object: 'codex.key.limit';
  /** Includes what running requests have reserved. */
  readonly used: number;
  readonly remaining: number;
  /** Null: the window begins with the next use. */
  readonly began_at: number | null;
  readonly resets_at: number | null;
}

/** What a key has used of its limits. A key without limits does not use the store. */
export const readLimitStatus = async (
  { id, limits }: ApiKey,
  store: LimitStore,
): Promise<readonly LimitStatus[]> => {
  if (limits.length === 0) return [];
  const windows = await store.status(id);
  return limits.map((limit) => {
    const { unit, window, max, model } = limit;
    const begun = windows.get(limitName(limit)) ?? null;
    const used = begun?.used ?? 0;
    return {
      object: 'codex.key.limit',
      unit,
      window,
      model,
      max,
      used: shownAmount(unit, used),
      remaining: shownAmount(unit, Math.max(0, maxOf(limit) - used)),
      began_at: begun === null ? null : Math.floor(begun.beganAt / 1_000),
      resets_at: begun === null ? null : Math.ceil(begun.resetsAt / 1_000),
    };
  });
};

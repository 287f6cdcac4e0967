import { failure, GatewayError } from '../canonical/failure/failure.ts';
import type { LimitWindow } from '../store/ports/limits.ts';
import type { KeyLimit } from './key.ts';
import { maxOf, shownAmount } from './spent.ts';

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
  { used, resetsAt }: LimitWindow,
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
  const failed = failure('key_limit_exceeded', {
    message,
    ...(isTooLarge ? {} : { retryAfterSeconds }),
    more: { limit: { unit, window, model, max: limit.max, used: shownAmount(unit, used), resets_at: at } },
  });
  const isFinal = isTooLarge || retryAfterSeconds > LONGEST_RETRY_SECONDS;
  return new GatewayError(isFinal ? { ...failed, headers: { 'x-should-retry': 'false' } } : failed);
};

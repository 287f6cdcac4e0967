import type { LimitWindow, RateLimit, RateLimits, TokenTotals } from '../../canonical/models/account.ts';
import type { ResultOf } from '../protocol/methods.ts';

type Limits = ResultOf<'account/rateLimits/read'>;
type Snapshot = Limits['rateLimits'];

export const toRateLimits = (read: Limits): RateLimits => {
  const { rateLimits: first, rateLimitsByLimitId } = read;
  const others = Object.values(rateLimitsByLimitId ?? {}).filter(
    (one) => one !== undefined && one.limitId !== first.limitId,
  );
  return {
    plan: first.planType,
    isAllowed: read.ordinaryUsageAllowed,
    limits: [first, ...others].flatMap((one) => (one === undefined ? [] : [toRateLimit(one)])),
    resetCredits: read.rateLimitResetCredits?.availableCount ?? null,
  };
};

const toRateLimit = (snapshot: Snapshot): RateLimit => ({
  id: snapshot.limitId,
  name: snapshot.limitName,
  primary: toWindow(snapshot.primary),
  secondary: toWindow(snapshot.secondary),
  credits:
    snapshot.credits === null
      ? null
      : {
          hasCredits: snapshot.credits.hasCredits,
          isUnlimited: snapshot.credits.unlimited,
          balance: snapshot.credits.balance,
        },
  reached: snapshot.rateLimitReachedType,
});

const toWindow = (window: Snapshot['primary']): LimitWindow | null =>
  window === null
    ? null
    : { usedPercent: window.usedPercent, minutes: window.windowDurationMins, resetsAt: window.resetsAt };

export const toTokenTotals = ({
  summary,
  dailyUsageBuckets,
}: ResultOf<'account/usage/read'>): TokenTotals => ({
  lifetime: summary.lifetimeTokens,
  peakDay: summary.peakDailyTokens,
  longestTurnSeconds: summary.longestRunningTurnSec,
  currentStreakDays: summary.currentStreakDays,
  longestStreakDays: summary.longestStreakDays,
  days: dailyUsageBuckets?.map(({ startDate, tokens }) => ({ date: startDate, tokens })) ?? null,
});

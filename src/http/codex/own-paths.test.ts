import { describe, expect, it } from 'vitest';

import { codexUsage } from './own-paths.ts';

const NOW = 1_800_000_000_000;
const WINDOW = { usedPercent: 41.6, minutes: 300, resetsAt: 1_800_000_120 };
const CODEX = { id: 'codex', name: null, primary: WINDOW, secondary: null, credits: null, reached: null };

describe('codexUsage', () => {
  it('returns the limits in the format of codex', () => {
    const credits = { hasCredits: true, isUnlimited: false, balance: '5' };
    const spark = { ...CODEX, id: 'spark', name: 'Spark', primary: null, secondary: WINDOW };
    const limits = [{ ...CODEX, credits, reached: 'rate_limit_reached' }, spark];
    const window = {
      used_percent: 42,
      limit_window_seconds: 18_000,
      reset_after_seconds: 120,
      reset_at: 1_800_000_120,
    };
    expect(codexUsage({ plan: 'plus', isAllowed: null, limits, resetCredits: null }, NOW)).toEqual({
      plan_type: 'plus',
      rate_limit: { allowed: false, limit_reached: true, primary_window: window, secondary_window: null },
      credits: { has_credits: true, unlimited: false, balance: '5' },
      additional_rate_limits: [
        {
          limit_name: 'Spark',
          metered_feature: 'spark',
          rate_limit: { allowed: true, limit_reached: false, primary_window: null, secondary_window: window },
        },
      ],
      rate_limit_reached_type: { type: 'rate_limit_reached' },
    });
  });

  it('omits what the backend did not report', () => {
    const limits = [{ ...CODEX, primary: { usedPercent: 1, minutes: null, resetsAt: null } }];
    expect(codexUsage({ plan: null, isAllowed: true, limits, resetCredits: null }, NOW)).toMatchObject({
      plan_type: 'unknown',
      rate_limit: {
        allowed: true,
        primary_window: { used_percent: 1, limit_window_seconds: 0, reset_after_seconds: 0 },
      },
      credits: null,
      rate_limit_reached_type: null,
    });
  });

  it('returns no limits if nothing is metered', () => {
    expect(codexUsage(null, NOW)).toEqual({
      plan_type: 'unknown',
      rate_limit: null,
      credits: null,
      additional_rate_limits: [],
      rate_limit_reached_type: null,
    });
  });
});

import { expect, it } from 'vitest';

import { limitHeaders } from './limit-headers.ts';

const LIMITS = {
  primary: { used_percent: 42.5, window_minutes: 300, reset_at: 1_900_000_000 },
  secondary: { used_percent: 7, window_minutes: null, reset_at: 1_900_500_000 },
};

it('has the names of the headers of a POST', () => {
  const event = {
    type: 'codex.rate_limits',
    plan_type: 'plus',
    rate_limits: LIMITS,
    credits: { has_credits: true, unlimited: false, balance: '9.5' },
  };
  expect(limitHeaders(event)).toEqual({
    'x-codex-primary-used-percent': '42.5',
    'x-codex-primary-window-minutes': '300',
    'x-codex-primary-reset-at': '1900000000',
    'x-codex-secondary-used-percent': '7',
    'x-codex-secondary-reset-at': '1900500000',
    'x-codex-plan-type': 'plus',
    'x-codex-credits-has-credits': 'True',
    'x-codex-credits-unlimited': 'False',
    'x-codex-credits-balance': '9.5',
  });
});

it('keeps the limits of other names apart', () => {
  const { primary } = LIMITS;
  expect(limitHeaders({ metered_limit_name: 'Codex_Other', rate_limits: { primary } })).toEqual({
    'x-codex-other-primary-used-percent': '42.5',
    'x-codex-other-primary-window-minutes': '300',
    'x-codex-other-primary-reset-at': '1900000000',
  });
});

it('ignores what cannot be a header', () => {
  expect(limitHeaders({ plan_type: 'a\r\nb', limit_name: 'x\ny', rate_limits: [], credits: 'no' })).toEqual(
    {},
  );
});

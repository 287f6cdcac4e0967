import { expect, it } from 'vitest';

import { freshProxies } from './hooks.ts';
import { codeOf } from './proxy.ts';

const started = freshProxies();

it('shows what an account may use, and nothing about its owner', async () => {
  const at = await started();
  const limits = await at.get('/v1/codex/rate-limits');
  expect(limits.json).toEqual({
    object: 'codex.rate_limits',
    plan: 'plus',
    allowed: null,
    reset_credits: null,
    rate_limits: [
      {
        id: 'codex',
        name: null,
        primary: { used_percent: 42, window_minutes: 300, resets_at: 1_900_000_000 },
        secondary: { used_percent: 7, window_minutes: 10_080, resets_at: 1_900_500_000 },
        credits: { has_credits: false, unlimited: false, balance: null },
        reached: null,
      },
    ],
  });
  const models = await at.get('/v1/codex/models');
  expect(models.json['data']).toContainEqual(
    expect.objectContaining({
      id: 'gpt-6.1-sol',
      is_default: true,
      hidden: false,
      service_tiers: ['priority'],
    }),
  );
  const config = await at.get('/v1/codex/config');
  expect(config.json).toMatchObject({
    app_server: { model_provider: 'proxy', provider: { requires_openai_auth: true } },
    settings: { PROXY_SANDBOX_MODE: 'read-only' },
  });

  const account = await at.get('/v1/codex/account');
  expect(account.json).toEqual({
    object: 'codex.account',
    backend: 'chatgpt',
    login: 'chatgpt',
    plan: 'plus',
    sign_in: { state: 'signed_in', confirmed: true, how: null },
  });
  const all = [limits, models, config, account].map(({ text }) => text).join('\n');
  expect(all).not.toMatch(/@|acc-|A person|account_id|Bearer|\/tmp\//);
  // Models of both request formats: the fake accepts it as codex's own.
  for (const model of ['gpt-6.1-sol', 'gpt-5.5']) {
    const review = await at.post('/v1/codex/reviews', { model, input: '+ a line' });
    expect([review.status, review.json['review']]).toEqual([200, 'Hello from the scripted model.']);
  }
  // Cached: the account's service is gone, its last answer is not.
  await at.backend.close();
  expect((await at.get('/v1/codex/rate-limits')).text).toBe(limits.text);
  expect(codeOf(await at.get('/v1/codex/usage'))).toBe('502 upstream_error');
});

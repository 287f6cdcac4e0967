import type {
  Account,
  Credits,
  LimitWindow,
  RateLimit,
  RateLimits,
  TokenTotals,
} from '../../canonical/models/account.ts';
import { FAILURES } from '../../canonical/failure/failure-catalogue.ts';
import type { ModelInfo, ModelNames } from '../../canonical/models/model-names.ts';
import type { JsonObject } from '../../kit/json/json.ts';

/** Every model, including hidden ones. Unknown properties are null. */
export const projectCodexModels = ({ list }: ModelNames) => ({
  object: 'list' as const,
  data: [
    ...list.models.map((model) => projectCodexModel(model, model.id === list.standard, false)),
    ...list.unlisted.map((model) => projectCodexModel(model, false, true)),
  ],
});

const projectCodexModel = (model: ModelInfo, isDefault: boolean, isHidden: boolean) => ({
  id: model.id,
  object: 'codex.model' as const,
  display_name: model.displayName,
  description: model.description,
  is_default: isDefault,
  hidden: isHidden,
  upgrade: model.upgrade,
  reasoning_efforts: model.efforts,
  default_reasoning_effort: model.defaultEffort,
  service_tiers: model.serviceTiers,
  input_modalities: model.inputModalities,
  context_window: model.contextWindow,
  max_context_window: model.maxContextWindow,
  max_output_tokens: model.maxOutputTokens,
});

/** Without the account's identity: many people may share a server. */
export const projectAccount = ({ backend, plan, isConfirmed }: Account) => ({
  object: 'codex.account' as const,
  backend: WORDS[backend],
  login: backend === 'chatgpt' ? 'chatgpt' : backend === 'api-key' ? 'api_key' : null,
  plan,
  sign_in: {
    state: backend === 'none' ? 'needed' : isLogin(backend) ? 'signed_in' : 'not_needed',
    confirmed: isConfirmed,
    how: backend === 'none' ? FAILURES.sign_in_required.message : null,
  },
});

const isLogin = (backend: Account['backend']): boolean => backend === 'chatgpt' || backend === 'api-key';

const WORDS: Readonly<Record<Account['backend'], string>> = {
  chatgpt: 'chatgpt',
  'api-key': 'openai',
  provider: 'provider',
  demo: 'demo',
  none: 'none',
};

export const projectRateLimits = (limits: RateLimits | null) => ({
  object: 'codex.rate_limits' as const,
  plan: limits?.plan ?? null,
  allowed: limits?.isAllowed ?? null,
  reset_credits: limits?.resetCredits ?? null,
  rate_limits: limits?.limits.map(projectRateLimit) ?? null,
});

const projectRateLimit = (limit: RateLimit) => ({
  id: limit.id,
  name: limit.name,
  primary: projectWindow(limit.primary),
  secondary: projectWindow(limit.secondary),
  credits: projectCredits(limit.credits),
  reached: limit.reached,
});

export const projectCredits = (credits: Credits | null) =>
  credits === null
    ? null
    : { has_credits: credits.hasCredits, unlimited: credits.isUnlimited, balance: credits.balance };

const projectWindow = (window: LimitWindow | null) =>
  window === null
    ? null
    : {
        used_percent: window.usedPercent,
        window_minutes: window.minutes,
        resets_at: window.resetsAt,
      };

export const projectTotals = (totals: TokenTotals | null) => ({
  object: 'codex.usage' as const,
  usage:
    totals === null
      ? null
      : {
          lifetime_tokens: totals.lifetime,
          peak_daily_tokens: totals.peakDay,
          longest_turn_seconds: totals.longestTurnSeconds,
          current_streak_days: totals.currentStreakDays,
          longest_streak_days: totals.longestStreakDays,
        },
  days: totals?.days ?? null,
});

/** The settings of this server that every client may see. */
export interface ServerSettings {
  readonly settings: Readonly<Record<string, unknown>>;
  /** Where each value comes from. */
  readonly sources: Readonly<Record<string, string>>;
}

export const projectConfig = (
  appServer: JsonObject,
  { settings, sources }: ServerSettings,
  codexVersion: string,
) => ({
  object: 'codex.config' as const,
  codex_version: codexVersion,
  app_server: appServer,
  settings,
  setting_sources: sources,
});

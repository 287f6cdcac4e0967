import type { LimitWindow, RateLimit, RateLimits } from '../../canonical/models/account.ts';
import type { ModelFilter } from '../../canonical/models/model-names.ts';
import type { CodexAccount } from '../../engine/codex-account.ts';
import type { Clock } from '../../kit/ambient.ts';
import type { Json, JsonObject } from '../../kit/json/json.ts';
import type { Api } from '../../turns/api.ts';
import type { TurnGate } from '../../turns/turn-gate.ts';
import { jsonResponse } from '../answer/json-response.ts';
import { INFER_OR_READ } from '../guards/scopes.ts';
import { route, type Route } from '../route.ts';
import { projectCredits } from './project.ts';

/** The models of codex's own endpoints. */
export interface CodexModelSource {
  /** The models in codex's own format, each with its long prompts. */
  readonly codexModels: () => readonly JsonObject[];
}

export interface OwnPathsDeps extends CodexModelSource {
  /** The account of the active backend. */
  readonly codexAccount: () => CodexAccount;
  readonly clock: Clock;
  /** A key sees only the models that it may use. */
  readonly modelFilter: TurnGate['modelFilter'];
}

/** The turn endpoints at the paths that codex uses with a ChatGPT login. */
export const atCodexPaths = (apis: readonly Api[]): readonly Api[] =>
  apis.flatMap((api) =>
    /^\/v1\/responses(?:\/|$)/.test(api.path)
      ? [{ ...api, path: api.path.replace('/v1/', '/backend-api/codex/') }]
      : [],
  );

/** What codex requests besides turns; the two usage paths belong to two base URLs. */
export const ownPaths = ({
  codexAccount,
  codexModels,
  clock,
  modelFilter,
}: OwnPathsDeps): readonly Route[] => [
  route('GET /backend-api/codex/models', { scopes: INFER_OR_READ }, (_, exchange) =>
    jsonResponse(
      { models: usableModels(codexModels(), modelFilter(exchange.caller())) },
      {},
      exchange.signal,
    ),
  ),
  ...['/backend-api/wham/usage', '/api/codex/usage'].map((path): Route =>
    route(`GET ${path}`, { scopes: INFER_OR_READ }, async () =>
      Response.json(codexUsage(await codexAccount().rateLimits(), clock.now())),
    ),
  ),
];

/** Recognises codex by the version in the query of the model list, and answers in its format. */
export const modelsForCodex = (
  http: Request,
  { codexModels }: CodexModelSource,
  mayUse: ModelFilter | null,
): { readonly models?: readonly JsonObject[] } =>
  new URL(http.url).searchParams.has('client_version') ? { models: usableModels(codexModels(), mayUse) } : {};

const usableModels = (models: readonly JsonObject[], mayUse: ModelFilter | null): readonly JsonObject[] =>
  mayUse === null ? models : models.filter(({ slug }) => typeof slug === 'string' && mayUse(slug));

/** Rate limits in codex's format. Null: nothing is metered, and codex shows no limits. */
export const codexUsage = (limits: RateLimits | null, nowMs: number): JsonObject => {
  const [first, ...others] = limits?.limits ?? [];
  return {
    plan_type: limits?.plan ?? 'unknown',
    rate_limit: first === undefined ? null : rateLimit(first, limits?.isAllowed ?? null, nowMs),
    credits: projectCredits(first?.credits ?? null),
    additional_rate_limits: others.map((limit) => ({
      limit_name: limit.name ?? limit.id ?? '',
      metered_feature: limit.id ?? '',
      rate_limit: rateLimit(limit, null, nowMs),
    })),
    rate_limit_reached_type:
      first?.reached === null || first?.reached === undefined ? null : { type: first.reached },
  };
};

const rateLimit = (
  { primary, secondary, reached }: RateLimit,
  isAllowed: boolean | null,
  nowMs: number,
): JsonObject => ({
  allowed: isAllowed ?? reached === null,
  limit_reached: reached !== null,
  primary_window: limitWindow(primary, nowMs),
  secondary_window: limitWindow(secondary, nowMs),
});

const limitWindow = (window: LimitWindow | null, nowMs: number): Json => {
  if (window === null) return null;
  const now = Math.floor(nowMs / 1000);
  const resetsAt = window.resetsAt ?? now;
  return {
    used_percent: Math.round(window.usedPercent),
    limit_window_seconds: (window.minutes ?? 0) * 60,
    reset_after_seconds: Math.max(0, resetsAt - now),
    reset_at: resetsAt,
  };
};

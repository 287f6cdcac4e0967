import type { IncomingHttpHeaders } from 'node:http';

import type { Json, JsonObject } from '../../src/kit/json/json.ts';
import { agentKeys, isAgentRequest, taskOf } from './access-tokens.ts';
import type { Settings } from './settings.ts';
import { LIMITS, MODELS_ETAG } from './stream.ts';
import type { TokenService } from './token-service.ts';

export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly form: JsonObject;
}

export interface PlainAnswer {
  readonly status: number;
  readonly body: Json;
  readonly headers?: Readonly<Record<string, string>>;
  readonly delayMs?: number;
}

export interface AccountRoutes {
  readonly settings: Settings;
  readonly tokens: TokenService;
  /** Where codex, as its own provider, sends the model requests of this account. */
  readonly workspaceOrigin: string;
}

type Route = (request: PlainRequest, routes: AccountRoutes) => PlainAnswer | 'hang';

const ok = (body: Json): PlainAnswer => ({ status: 200, body });

/** Everything but the model requests. All of `/backend-api` needs valid credentials. */
const ROUTES: Readonly<Record<string, Route>> = {
  'GET /backend-api/codex/models': ({ query }, { settings }) => {
    if (settings.modelsEndpoint === 'hangs') return 'hang';
    if (settings.modelsEndpoint === 'fails')
      return { status: 500, body: { detail: 'Internal Server Error' } };
    if ((query.get('client_version') ?? '') === '')
      return {
        status: 422,
        body: { detail: [{ type: 'missing', loc: ['query', 'client_version'], msg: 'Field required' }] },
      };
    return { ...ok({ models: settings.models }), headers: { etag: MODELS_ETAG } };
  },
  'GET /backend-api/wham/accounts/check': ({ headers }, { tokens, workspaceOrigin }) => {
    const { accountId } = tokens.accountOf(headers);
    return ok({
      accounts: [
        {
          id: accountId,
          name: 'A person',
          structure: 'personal',
          workspace_backend_origin: workspaceOrigin,
          account_routing_override: 'NO_CONSTRAINT',
        },
      ],
      account_ordering: [accountId],
      default_account_id: accountId,
    });
  },
  'GET /backend-api/wham/settings/user': (_, { settings }) => ({
    ...ok({ commit_attribution_enabled: settings.attribution }),
    delayMs: settings.settingsDelayMs,
  }),
  'GET /backend-api/wham/config/bundle': (_, { settings }) =>
    settings.bundle === 'ok' ? ok({}) : { status: 500, body: { detail: 'Internal Server Error' } },
  'GET /backend-api/wham/usage': ({ headers }, { tokens }) =>
    ok({
      plan_type: tokens.accountOf(headers).plan,
      rate_limit: {
        allowed: true,
        limit_reached: false,
        primary_window: {
          used_percent: LIMITS.primaryUsedPercent,
          limit_window_seconds: LIMITS.primaryWindowMinutes * 60,
          reset_after_seconds: 120,
          reset_at: LIMITS.primaryResetAt,
        },
        secondary_window: {
          used_percent: LIMITS.secondaryUsedPercent,
          limit_window_seconds: LIMITS.secondaryWindowMinutes * 60,
          reset_after_seconds: 3600,
          reset_at: LIMITS.secondaryResetAt,
        },
      },
      credits: { has_credits: false, unlimited: false, balance: null },
    }),
  'GET /backend-api/wham/profiles/me': () =>
    ok({ stats: { lifetime_tokens: 1, daily_usage_buckets: [{ start_date: '2026-11-15', tokens: 77 }] } }),
  'GET /backend-api/wham/agent-identities/jwks': () => ok(agentKeys()),
  'GET /api/accounts/v1/user-auth-credential/whoami': ({ headers }, { settings, tokens }) => {
    if (settings.tokenCheck === 'hangs') return 'hang';
    if (settings.tokenCheck === 'fails') return { status: 503, body: { detail: 'Service Unavailable' } };
    const isPersonal = headers.authorization?.startsWith('Bearer at-') === true;
    const refusal = isPersonal ? tokens.refusal(headers) : NOT_PERSONAL;
    if (refusal !== null) return refusal;
    const { accountId, plan, email } = tokens.accountOf(headers);
    return ok({
      email,
      chatgpt_user_id: `user-of-${accountId}`,
      chatgpt_account_id: accountId,
      chatgpt_plan_type: plan,
      chatgpt_account_is_fedramp: false,
    });
  },
  'POST /oauth/token': ({ form }, { tokens }) => tokens.grant(form),
  'POST /oauth/revoke': ({ form }, { tokens }) => {
    tokens.revoke(form);
    return ok({});
  },
  'POST /api/accounts/deviceauth/usercode': () =>
    ok({ device_auth_id: 'device-1', user_code: 'CODE-12345', interval: '1' }),
  'POST /api/accounts/deviceauth/token': (_, { settings }) =>
    settings.deviceLogin === 'pending'
      ? { status: 404, body: { detail: 'Authorization pending' } }
      : ok({ authorization_code: 'code-1', code_challenge: 'challenge', code_verifier: 'verifier' }),
};

const NOT_PERSONAL: PlainAnswer = { status: 401, body: { detail: 'Unauthorized' } };

/** `POST /api/accounts/v1/agent/ID/task/register` */
const REGISTRATION = /^POST \/api\/accounts\/v1\/agent\/([\w-]+)\/task\/register$/;

/** Requested before codex knows who it is. */
const OPEN = new Set(['/backend-api/wham/agent-identities/jwks']);

export const answerPlain = (request: PlainRequest, routes: AccountRoutes): PlainAnswer | 'hang' => {
  const name = `${request.method} ${request.path}`;
  const agent = REGISTRATION.exec(name)?.[1];
  if (agent !== undefined)
    return isAgentRequest(agent, request.form) ? ok({ task_id: taskOf(agent) }) : NOT_PERSONAL;
  const route = ROUTES[name];
  if (route === undefined) return { status: 404, body: { detail: 'Not Found' } };
  if (request.path.startsWith('/backend-api') && !OPEN.has(request.path)) {
    if (request.headers.authorization === undefined) return { status: 401, body: { detail: 'Unauthorized' } };
    const refusal = routes.tokens.refusal(request.headers);
    if (refusal !== null) return refusal;
  }
  return route(request, routes);
};

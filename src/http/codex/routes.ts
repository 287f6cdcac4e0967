import { usableNames } from '../../canonical/models/model-names.ts';
import type { CodexAccount } from '../../engine/codex-account.ts';
import { INFER_OR_READ } from '../guards/scopes.ts';
import { route, type Route } from '../route.ts';
import { clientsRoute, type ClientsRouteDeps } from './clients.ts';
import { feedbackRoute, type FeedbackDeps } from './feedback.ts';
import {
  projectAccount,
  projectCodexModels,
  projectConfig,
  projectRateLimits,
  projectTotals,
  type ServerSettings,
} from './project.ts';

export interface CodexRouteDeps extends ClientsRouteDeps, FeedbackDeps, ServerSettings {
  /** The account of the active backend. */
  readonly codexAccount: () => CodexAccount;
  readonly codexVersion: string;
}

/** Information from the app-server and its account, for people and dashboards. */
export const codexRoutes = (deps: CodexRouteDeps): readonly Route[] => {
  const { codexAccount, models, modelFilter, codexVersion } = deps;
  return [
    route('GET /v1/codex/models', { scopes: INFER_OR_READ }, async (_, exchange) =>
      Response.json(projectCodexModels(usableNames(await models.names(), modelFilter(exchange.caller())))),
    ),
    route('GET /v1/codex/account', 'read', async () =>
      Response.json(projectAccount(await codexAccount().account())),
    ),
    route('GET /v1/codex/rate-limits', { scopes: INFER_OR_READ }, async () =>
      Response.json(projectRateLimits(await codexAccount().rateLimits())),
    ),
    route('GET /v1/codex/usage', 'read', async () =>
      Response.json(projectTotals(await codexAccount().usage())),
    ),
    route('GET /v1/codex/config', 'read', async () =>
      Response.json(projectConfig(await codexAccount().config(), deps, codexVersion)),
    ),
    clientsRoute(deps),
    feedbackRoute(deps),
  ];
};

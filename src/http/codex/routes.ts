import { usableNames } from '../../canonical/models/model-names.ts';
import type { CodexAccount } from '../../engine/codex-account.ts';
import { INFER_OR_READ } from '../guards/scopes.ts';
import { route, type Route } from '../route.ts';
import { clientsRoute, type ClientsRouteDeps } from './clients.ts';
import {
  projectAccount,
  projectCodexModels,
  projectConfig,
  projectRateLimits,
  projectTotals,
  type ServerSettings,
} from './project.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { readFeedback } from '../../openai/shared/sign-in.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../body/read-json.ts';

interface FeedbackDeps {
  readonly codexAccount: () => Pick<CodexAccount, 'sendFeedback'>;
  /** The operator allows sending feedback to OpenAI. */
  readonly takesFeedback: boolean;
  readonly bodies: BodyDeps;
}

export const feedbackRoute = ({ codexAccount, takesFeedback, bodies }: FeedbackDeps): Route =>
  route('POST /v1/codex/feedback', 'admin', async (http, exchange) => {
    if (!takesFeedback) {
      throw gatewayError('endpoint_not_supported', {
        message:
          'Feedback is disabled. The operator of this server can enable it with PROXY_ENABLE_FEEDBACK=true.',
      });
    }
    const { feedback, ignored } = readFeedback(await readHeldBody(http, exchange, bodies));
    const id = await codexAccount().sendFeedback(feedback);
    return Response.json(
      { id, object: 'codex.feedback', status: 'sent' },
      { headers: ignoredHeader(ignored) },
    );
  });

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

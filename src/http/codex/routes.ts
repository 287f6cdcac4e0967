import { usableNames } from '../../canonical/models/model-names.ts';
import type { CodexAccount } from '../../engine/codex-account.ts';
import type { McpDirectory } from '../../engine/mcp/mcp-directory.ts';
import { INFER_OR_READ, type Scope } from '../guards/scopes.ts';
import type { Route } from '../server.ts';
import { clientsRoute, type ClientsRouteDeps } from './clients.ts';
import { feedbackRoute, type FeedbackDeps } from './feedback.ts';
import {
  projectAccount,
  projectCodexModels,
  projectConfig,
  projectMcpStatus,
  projectRateLimits,
  projectTotals,
  type ServerSettings,
} from './project.ts';

export interface CodexRouteDeps extends ClientsRouteDeps, FeedbackDeps, ServerSettings {
  /** The account of the active backend. */
  readonly codexAccount: () => CodexAccount;
  readonly mcp: McpDirectory;
  readonly codexVersion: string;
}

/** Information from the app-server and its account, for people and dashboards. */
export const codexRoutes = (deps: CodexRouteDeps): readonly Route[] => {
  const { codexAccount, models, modelFilter, mcp, codexVersion } = deps;
  return [
    asked('/v1/codex/models', INFER_OR_READ, async (caller) =>
      projectCodexModels(usableNames(await models.names(), modelFilter(caller))),
    ),
    asked('/v1/codex/account', READ, async () => projectAccount(await codexAccount().account())),
    asked('/v1/codex/rate-limits', INFER_OR_READ, async () =>
      projectRateLimits(await codexAccount().rateLimits()),
    ),
    asked('/v1/codex/usage', READ, async () => projectTotals(await codexAccount().usage())),
    asked('/v1/codex/mcp', READ, async () => projectMcpStatus(await mcp.list())),
    asked('/v1/codex/config', READ, async () =>
      projectConfig(await codexAccount().config(), deps, codexVersion),
    ),
    clientsRoute(deps),
    feedbackRoute(deps),
  ];
};

const READ: readonly Scope[] = ['read'];

/** `answer` gets the id of the caller's key. */
const asked = (
  path: string,
  scopes: readonly Scope[],
  answer: (caller: string) => Promise<object>,
): Route => ({
  method: 'GET',
  path,
  access: 'key',
  scopes,
  handle: async (_http, exchange) => Response.json(await answer(exchange.caller())),
});

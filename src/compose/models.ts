import path from 'node:path';

import type { BackendTarget, LoginBackend } from '../codex/home/backend.ts';
import { createAccountModels, type AccountModels } from '../codex/models/account-models.ts';
import { askAccount } from '../codex/models/ask-account.ts';
import { cleanCatalogue } from '../codex/home/catalogue.ts';
import { openSavedLists } from '../codex/models/saved-lists.ts';
import { catalogueKind, type CodexHomes } from '../codex/home/prepare-home.ts';
import { readLogin } from '../codex/login/read-login.ts';
import { createProviderModels } from '../codex/models/provider-models.ts';
import type { Clock } from '../kit/ambient.ts';
import { present } from '../kit/json/json.ts';
import type { Logger } from '../observe/log.ts';

/** The models of a backend for `/v1/models` and the workers. */
export type OpenModels = Omit<AccountModels, 'origin'>;

export interface OpenModelsOptions {
  readonly homes: CodexHomes;
  /** As configured, not as the app-server sees it. */
  readonly backend: BackendTarget;
  /** As the app-server sees it: the relay, if there is one. */
  readonly appServerBackend: BackendTarget;
  /** Who asks an account for its models. */
  readonly via: 'us' | 'codex';
  /** A provider's key; null: none, or the relay adds it. */
  readonly apiKey: string | null;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
  /** For tests: how long a start waits for the list of an account. */
  readonly firstWaitMs?: number;
}

/** Accounts and providers are queried for their models; otherwise codex's own list is used. */
export const openModels = async (options: OpenModelsOptions): Promise<OpenModels> => {
  const { backend, homes } = options;
  if (options.appServerBackend.kind === 'login' && options.appServerBackend.login === 'chatgpt')
    return openAccount(options, options.appServerBackend);
  const catalogue = cleanCatalogue(homes.bundled, catalogueKind(backend));
  const fixed = { catalogue: async () => catalogue, current: () => catalogue, onChange: () => {} };
  if (backend.kind !== 'upstream') {
    return { ...fixed, models: async () => catalogue.list, refresh: () => {}, close: async () => {} };
  }
  const provider = createProviderModels({
    baseUrl:
      options.appServerBackend.kind === 'upstream' ? options.appServerBackend.baseUrl : backend.baseUrl,
    apiKey: options.apiKey,
    bundled: catalogue.list,
    clock: options.clock,
    onFailed: (reason) =>
      options.logger.info({ reason }, 'the provider lists no models; using the list of codex'),
  });
  return {
    ...fixed,
    models: () => provider.models(),
    refresh: () => provider.refresh(),
    close: () => provider.close(),
  };
};

/** A worker may refresh a token that is valid for less than this at any moment. */
const FRESH_FOR_MS = 15 * 60_000;

const openAccount = async (
  { homes, via, clock, logger, firstWaitMs }: OpenModelsOptions,
  backend: LoginBackend,
): Promise<OpenModels> => {
  const login = async () => {
    const text = (await homes.login.read()) ?? '';
    const facts = readLogin(text);
    // A personal access token contains no account id.
    return { account: facts?.accountId ?? homes.login.revisionOf(text), expiresAt: facts?.expiresAt ?? null };
  };
  const { account } = await login();
  return createAccountModels({
    bundled: homes.bundled,
    ask: (signal) => askAccount({ homes, backend, via, signal }),
    mayAskAgain: async () => {
      const now = await login();
      // The login now belongs to another account.
      if (now.account !== account) return false;
      return (now.expiresAt?.getTime() ?? Infinity) - clock.now() > FRESH_FOR_MS;
    },
    kept: openSavedLists(path.join(homes.lastingDirectory, 'account-models'), account),
    clock,
    ...present({ firstWaitMs }),
    onFailed: (reason) =>
      logger.warn({ reason }, 'the models of the account could not be listed; using the last known list'),
  });
};

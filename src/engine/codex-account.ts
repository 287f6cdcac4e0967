import type { Account, Feedback, RateLimits, TokenTotals } from '../canonical/models/account.ts';
import { failure, gatewayError, GatewayError, type Failure } from '../canonical/failure/failure.ts';
import type { AppServer } from '../codex/app-server.ts';
import { RequestTimeout, RPC_CODES, RpcError } from '../codex/rpc/errors.ts';
import { toRateLimits, toTokenTotals } from '../codex/translate/account.ts';
import { publicConfig } from '../codex/translate/public-config.ts';
import type { WorkerLeases } from '../codex/worker/supervisor.ts';
import type { Clock } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { keepAnswer } from '../kit/collections/recent.ts';
import { rpcFailure } from './attempt/app-server-turn.ts';

/**
 * Methods of the app-server other than turns. Answers are cached for some seconds and concurrent requests are shared, so
 * that clients cannot overload the account's backend. All throw a `GatewayError`.
 */
export interface CodexAccount {
  account(): Promise<Account>;
  /** Null: there is no ChatGPT account. */
  rateLimits(): Promise<RateLimits | null>;
  /** Null: there is no ChatGPT account. */
  usage(): Promise<TokenTotals | null>;
  /** The public settings of the app-server. */
  config(): Promise<JsonObject>;
  /** Sends feedback to OpenAI, without logs, one at a time. Returns its id. */
  sendFeedback(feedback: Feedback): Promise<string>;
}

export interface CodexAccountOptions {
  readonly backend: Account['backend'];
  readonly workers: WorkerLeases;
  readonly clock: Clock;
}

/** The app-server itself has no timeout for the account's service. */
const LIMITS = { timeoutMs: 15_000 };
const KEEP_MS = 10_000;
const KEEP_FAILURE_MS = 5_000;
const ONE_FEEDBACK = {
  message: 'Another feedback report is being sent. Please try again later.',
  retryAfterSeconds: 1,
};

export const createCodexAccount = ({ backend, workers, clock }: CodexAccountOptions): CodexAccount => {
  const once = async <T>(ask: (appServer: AppServer) => Promise<T>): Promise<T> => {
    const lease = await workers.lease(new AbortController().signal);
    try {
      return await ask(lease.appServer);
    } catch (error) {
      throw new GatewayError(accountFailure(error), { cause: error });
    } finally {
      lease.release();
    }
  };
  const kept = <T>(ask: (appServer: AppServer) => Promise<T>): (() => Promise<T>) =>
    keepAnswer(() => once(ask), { clock, keepMs: () => KEEP_MS, keepFailureMs: KEEP_FAILURE_MS });
  let isSending = false;
  const account = kept((appServer) => readAccount(appServer, backend));
  const rateLimits = kept(async (appServer) => {
    // The details of credits would take another request, and are not shown.
    const params = { excludeResetCreditDetails: true };
    return toRateLimits(await appServer.request('account/rateLimits/read', params, LIMITS));
  });
  const usage = kept(async (appServer) =>
    toTokenTotals(await appServer.request('account/usage/read', {}, LIMITS)),
  );
  const hasAccount = backend === 'chatgpt';
  return {
    account: async () => (hasAccount ? account() : { backend, plan: null, isConfirmed: true }),
    rateLimits: async () => (hasAccount ? rateLimits() : null),
    usage: async () => (hasAccount ? usage() : null),
    config: kept(async (appServer) =>
      publicConfig((await appServer.request('config/read', {}, LIMITS)).config),
    ),
    async sendFeedback(feedback) {
      if (isSending) throw gatewayError('concurrency_limit', ONE_FEEDBACK);
      isSending = true;
      try {
        const params = { ...feedback, includeLogs: false };
        return (await once((appServer) => appServer.request('feedback/upload', params, LIMITS))).threadId;
      } finally {
        isSending = false;
      }
    },
  };
};

/** Without a network codex cannot read the account, but turns may still run. */
const readAccount = async (appServer: AppServer, backend: Account['backend']): Promise<Account> => {
  try {
    const { account } = await appServer.request('account/read', {}, LIMITS);
    if (account?.type === 'chatgpt') return { backend, plan: account.planType, isConfirmed: true };
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof RequestTimeout)) throw error;
  }
  const params = { includeToken: false, refreshToken: false };
  const { authMethod } = await appServer.request('getAuthStatus', params, LIMITS);
  return { backend: authMethod === null ? 'none' : backend, plan: null, isConfirmed: false };
};

/** The original message may name addresses and accounts, so it is only logged. */
const accountFailure = (error: unknown): Failure => {
  if (error instanceof RequestTimeout) return failure('upstream_timeout');
  if (error instanceof RpcError && error.code === RPC_CODES.internal) {
    return failure('upstream_error', { message: 'The service that codex uses did not answer.' });
  }
  return rpcFailure(error);
};

import type { Account, Feedback, RateLimits, TokenTotals } from '../canonical/models/account.ts';
import { failure, gatewayError, GatewayError, type Failure } from '../canonical/failure/failure.ts';
import type { AppServer } from '../codex/app-server.ts';
import { RequestTimeout, RPC_CODES, RpcError } from '../codex/rpc/errors.ts';
import { toRateLimits, toTokenTotals } from '../codex/translate/account.ts';
import { publicConfig } from '../codex/translate/public-config.ts';
import type { WorkerPool } from '../codex/worker/supervisor.ts';
import type { Clock } from '../kit/ambient.ts';
import type { JsonObject } from '../kit/json/json.ts';
import { keepAnswer } from '../kit/async/keep-answer.ts';
import { rpcFailure } from './attempt/rpc-failure.ts';

/**
 * What can be asked of the app-server beside turns. Every answer is kept for some seconds, and no question is asked
 * twice at once: who has a key must not be able to hammer the account's backend. All throw a `GatewayError`.
 */
export interface CodexAccount {
  account(): Promise<Account>;
  /** Null: nothing is metered here that could be asked for. */
  rateLimits(): Promise<RateLimits | null>;
  /** Null: nobody counts. */
  usage(): Promise<TokenTotals | null>;
  /** The settings of the app-server itself, as far as strangers may see them. */
  config(): Promise<JsonObject>;
  /** Sends it to the makers of codex, without logs, one at a time; the id by which they find it. */
  sendFeedback(feedback: Feedback): Promise<string>;
}

export interface CodexAccountOptions {
  readonly backend: Account['backend'];
  readonly workers: Pick<WorkerPool, 'lease'>;
  readonly clock: Clock;
}

/** The account's service is asked by way of the app-server, which waits for it without an end of its own. */
const ASK_MS = 15_000;
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
      throw new GatewayError(deskFailure(error), { cause: error });
    } finally {
      lease.release();
    }
  };
  const kept = <T>(ask: (appServer: AppServer) => Promise<T>): (() => Promise<T>) =>
    keepAnswer(() => once(ask), { clock, keepMs: () => KEEP_MS, keepFailureMs: KEEP_FAILURE_MS });
  let isSending = false;
  const limits = { timeoutMs: ASK_MS };
  const account = kept((appServer) => readAccount(appServer, backend));
  const rateLimits = kept(async (appServer) =>
    // How each credit came about is a request of its own, and nobody here shows it.
    toRateLimits(
      await appServer.request('account/rateLimits/read', { excludeResetCreditDetails: true }, limits),
    ),
  );
  const usage = kept(async (appServer) =>
    toTokenTotals(await appServer.request('account/usage/read', {}, limits)),
  );
  const hasAccount = backend === 'chatgpt';
  return {
    account: async () => (hasAccount ? account() : { backend, plan: null, isConfirmed: true }),
    rateLimits: async () => (hasAccount ? rateLimits() : null),
    usage: async () => (hasAccount ? usage() : null),
    config: kept(async (appServer) =>
      publicConfig((await appServer.request('config/read', {}, limits)).config),
    ),
    async sendFeedback(feedback) {
      if (isSending) throw gatewayError('concurrency_limit', ONE_FEEDBACK);
      isSending = true;
      try {
        const params = { ...feedback, includeLogs: false };
        return (await once((appServer) => appServer.request('feedback/upload', params, limits))).threadId;
      } finally {
        isSending = false;
      }
    },
  };
};

/** Without a network codex cannot say whose account it is, but turns may run all the same. */
const readAccount = async (appServer: AppServer, backend: Account['backend']): Promise<Account> => {
  try {
    const { account } = await appServer.request('account/read', {}, { timeoutMs: ASK_MS });
    if (account?.type === 'chatgpt') return { backend, plan: account.planType, isConfirmed: true };
  } catch (error) {
    if (!(error instanceof RpcError) && !(error instanceof RequestTimeout)) throw error;
  }
  const params = { includeToken: false, refreshToken: false };
  const { authMethod } = await appServer.request('getAuthStatus', params, { timeoutMs: ASK_MS });
  return { backend: authMethod === null ? 'none' : backend, plan: null, isConfirmed: false };
};

/** Its own words may name addresses and accounts: they are for the log. */
const deskFailure = (error: unknown): Failure => {
  if (error instanceof RequestTimeout) return failure('upstream_timeout');
  if (error instanceof RpcError && error.code === RPC_CODES.internal) {
    return failure('upstream_error', { message: 'The service that codex uses did not answer.' });
  }
  return rpcFailure(error);
};

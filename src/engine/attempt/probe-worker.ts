import { failure, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { PROVIDER_ID } from '../../codex/protocol/provider.ts';
import { RequestTimeout, RpcError } from '../../codex/rpc/errors.ts';
import type { Worker } from '../../codex/worker/worker.ts';
import { rpcFailure } from './app-server-turn.ts';

export interface ProbeOptions {
  /** Only the account of a login can be unavailable at first. */
  readonly isLogin: boolean;
  readonly spawn: () => Promise<Worker>;
  readonly workdir: string;
  /** With an access token: why codex does not use it. Null: another login, which codex checks later. */
  readonly whyRejected: (() => Promise<Failure>) | null;
}

const PROBE_TIMEOUT_MS = 20_000;

/**
 * Spawns workers that can start threads. A codex of another version may answer `initialize` and not be able to load
 * our configuration. With a business login, codex requests the workspace settings once, at its start;
 * without them it rejects every thread. With an access token that was not confirmed at its start it is signed out until
 * it ends. Such a worker is stopped, and clients get the reason.
 */
export const probed =
  ({ isLogin, spawn, workdir, whyRejected }: ProbeOptions): (() => Promise<Worker>) =>
  async () => {
    const reasonFor = isLogin ? accountError : (error: unknown) => error;
    const worker = await spawn().catch((error: unknown) => {
      throw reasonFor(error);
    });
    try {
      if (whyRejected !== null && (await isSignedOut(worker))) throw new GatewayError(await whyRejected());
      // Kept in memory only, and closed when its last subscriber leaves.
      const { thread } = await worker.appServer.request(
        'thread/start',
        {
          modelProvider: PROVIDER_ID,
          cwd: workdir,
          baseInstructions: '',
          dynamicTools: [],
          environments: [],
          ephemeral: true,
        },
        { timeoutMs: PROBE_TIMEOUT_MS },
      );
      await worker.appServer.request('thread/unsubscribe', { threadId: thread.id });
      return worker;
    } catch (error) {
      await worker.stop();
      throw threadError(reasonFor(error));
    }
  };

const isSignedOut = async ({ appServer }: Worker): Promise<boolean> => {
  const params = { includeToken: false, refreshToken: false };
  const { authMethod } = await appServer.request('getAuthStatus', params, { timeoutMs: PROBE_TIMEOUT_MS });
  return authMethod === null;
};

/** An error of the account goes to clients, and the start is tried again. */
const accountError = (error: unknown): unknown => {
  const failed = isWaiting(error) ? SILENT : rpcFailure(error);
  return failed.kind === 'account_unavailable' ? new GatewayError(failed, { cause: error }) : error;
};

/** A codex that rejects a thread without any content does not fit. Other errors are internal. */
const threadError = (error: unknown): unknown => {
  if (!(error instanceof RpcError)) return error;
  const failed = rpcFailure(error);
  const isUnfit = failed.kind === 'codex_incompatible' || failed.status < 500;
  return isUnfit ? new GatewayError(failure('codex_incompatible', UNFIT), { cause: error }) : error;
};

const UNFIT = {
  message:
    'The codex of this server cannot start a thread with the configuration that this server writes. Its operator has to run the command `doctor`, and to install another version of codex.',
};

/** codex answers no request until it has the workspace settings, or has given up on them. */
const isWaiting = (error: unknown): boolean =>
  error instanceof RequestTimeout || (error instanceof Error && error.cause instanceof RequestTimeout);

const SILENT: Failure = failure('account_unavailable', {
  message:
    'The account that this server uses is unavailable: the service with its workspace settings does not answer. Please try again shortly.',
});

import { failure, GatewayError, type Failure } from '../../canonical/failure/failure.ts';
import { RequestTimeout } from '../../codex/rpc/errors.ts';
import type { Worker } from '../../codex/worker/worker.ts';
import { rpcFailure } from './rpc-failure.ts';

export interface ProbeOptions {
  /** Only a login can have an account that is not there yet. */
  readonly isNeeded: boolean;
  readonly spawn: () => Promise<Worker>;
  readonly workdir: string;
}

const PROBE_TIMEOUT_MS = 20_000;

/**
 * Workers that can start threads. With the login of a business codex asks for that business's settings
 * once, at its start; if they did not come it refuses every thread for as long as it lives. Such a
 * worker is not one: another may have more luck, and until then clients are told why.
 */
export const probed =
  ({ isNeeded, spawn, workdir }: ProbeOptions): (() => Promise<Worker>) =>
  async () => {
    if (!isNeeded) return spawn();
    const worker = await spawn().catch((error: unknown) => {
      throw told(error);
    });
    try {
      const { thread } = await worker.appServer.request(
        'thread/start',
        { cwd: workdir, baseInstructions: '', dynamicTools: [], environments: [], ephemeral: true },
        { timeoutMs: PROBE_TIMEOUT_MS },
      );
      await worker.appServer.request('thread/unsubscribe', { threadId: thread.id });
      return worker;
    } catch (error) {
      await worker.stop();
      throw told(error);
    }
  };

/** What is about the account is for clients to know, and is tried again; anything else is an error of ours. */
const told = (error: unknown): unknown => {
  const failed = isWaiting(error) ? SILENT : rpcFailure(error);
  return failed.kind === 'account_unavailable' ? new GatewayError(failed, { cause: error }) : error;
};

/** codex answers nobody until it has the settings of a business, or has given up on them. */
const isWaiting = (error: unknown): boolean =>
  error instanceof RequestTimeout || (error instanceof Error && error.cause instanceof RequestTimeout);

const SILENT: Failure = failure('account_unavailable', {
  message:
    'The account that this server uses is unavailable: the service with its workspace settings does not answer. Please try again shortly.',
});

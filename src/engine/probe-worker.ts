import { GatewayError } from '../canonical/failure.ts';
import type { Worker } from '../codex/worker/worker.ts';
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
    const worker = await spawn();
    if (!isNeeded) return worker;
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
      const failed = rpcFailure(error);
      throw failed.kind === 'account_unavailable' ? new GatewayError(failed, { cause: error }) : error;
    }
  };

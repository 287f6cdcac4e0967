import { gatewayError } from '../canonical/failure/failure.ts';
import { openDispatcher } from '../codex/relay/transport/dispatcher.ts';
import type { Config } from '../config/schema.ts';
import { Forwarder } from '../forward/forwarder.ts';
import type { ForwardDeps, ForwardTarget } from '../http/routes/forward.ts';
import { Limiter } from '../kit/async/limiter.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Metrics } from '../observe/metrics.ts';

/** Requests sent to a provider at once. Most providers allow fewer. */
const AT_ONCE = 64;
const MAX_WAITING = 512;

interface ForwardingOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly metrics: Pick<Metrics, 'refused'>;
}

/** The configured providers of APIs that the backend does not have. */
export interface Forwarding extends Omit<ForwardDeps, 'gate'> {
  close(): Promise<void>;
}

export const openForwarding = async (
  { embeddings, transcriptions, http, upstream, load }: Config,
  { environment, metrics }: ForwardingOptions,
): Promise<Forwarding> => {
  const dispatchers: Awaited<ReturnType<typeof openDispatcher>>[] = [];
  const open = async (
    { baseUrl, apiKey }: Config['embeddings'],
    setting: string,
  ): Promise<ForwardTarget | null> => {
    if (baseUrl === null) return null;
    const dispatcher = await openDispatcher([baseUrl], environment);
    dispatchers.push(dispatcher);
    return {
      forwarder: new Forwarder({
        baseUrl,
        apiKey,
        setting,
        dispatcher,
        idleTimeoutMs: upstream.idleTimeoutMs,
      }),
      line: new Limiter({
        capacity: AT_ONCE,
        maxWaiting: MAX_WAITING,
        waitMs: load.queueTimeoutMs,
        clock: systemAmbient.clock,
        onChange() {},
        refuse(reason, retryAfterSeconds) {
          metrics.refused.inc({ reason });
          return gatewayError(reason === 'share' ? 'concurrency_limit' : 'server_overloaded', {
            retryAfterSeconds,
          });
        },
      }),
    };
  };
  return {
    embeddings: await open(embeddings, 'PROXY_EMBEDDINGS_BASE_URL'),
    transcriptions: await open(transcriptions, 'PROXY_TRANSCRIPTIONS_BASE_URL'),
    maxBodyBytes: http.maxBodyBytes,
    async close() {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.destroy()));
    },
  };
};

import { boundedLabel } from './bounded-label.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

/** How a call of the app-server ended. */
interface EndedCall {
  readonly method: string;
  readonly seconds: number;
  readonly error: number | 'timeout' | 'closed' | null;
  readonly refusals?: number;
}

/** Counts calls of the app-server. One that was not answered in time is named in the log: its request says only that. */
export const rpcMetrics = (
  metrics: Pick<Metrics, 'rpcSeconds' | 'rpcErrors'>,
  logger: Pick<Logger, 'warn'>,
): ((call: EndedCall) => void) => {
  const codeLabel = boundedLabel();
  return ({ method, seconds, error, refusals }) => {
    metrics.rpcSeconds.observe({ rpc_method: method }, seconds);
    if (error === null) return;
    metrics.rpcErrors.inc({ rpc_method: method, rpc_error_code: codeLabel(String(error)) });
    if (error === 'timeout')
      logger.warn({ method, seconds, refusals }, 'the app-server did not answer a call in time');
  };
};

import { boundedLabel } from './metric-row.ts';
import type { WarningLogger } from './log.ts';
import type { Metrics } from './metrics.ts';

/** How a call of the app-server ended. */
interface EndedCall {
  readonly method: string;
  readonly seconds: number;
  readonly error: number | 'timeout' | 'closed' | null;
  readonly refusals?: number;
}

/**
 * Counts app-server calls, and logs those that failed. Calls lost with their app-server are not logged: its loss is.
 * Neither are interrupts: codex does not answer one if the turn ends at the same moment, and nothing waits for it.
 */
export const rpcMetrics = (metrics: Metrics, logger: WarningLogger): ((call: EndedCall) => void) => {
  const codeLabel = boundedLabel();
  return ({ method, seconds, error, refusals }) => {
    metrics.rpcSeconds.observe({ rpc_method: method }, seconds);
    if (error === null) return;
    metrics.rpcErrors.inc({ rpc_method: method, rpc_error_code: codeLabel(String(error)) });
    if (error === 'timeout' && method === 'turn/interrupt') return;
    if (error === 'timeout')
      logger.warn({ method, seconds, refusals }, 'the app-server did not answer a call in time');
    else if (error !== 'closed')
      logger.warn(
        { rpc_method: method, rpc_error_code: error },
        'the app-server answered a call with an error',
      );
  };
};

/** Counts lines of the app-server that are not JSON-RPC messages, and logs each reason once. */
export const malformedLines = (metrics: Metrics, logger: WarningLogger): ((reason: string) => void) => {
  const logged = new Set<string>();
  return (reason) => {
    metrics.upstreamMalformedLines.inc();
    if (logged.has(reason)) return;
    logged.add(reason);
    logger.warn({ reason }, 'the app-server wrote a line that is not a JSON-RPC message');
  };
};

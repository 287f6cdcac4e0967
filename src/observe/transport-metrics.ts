import { boundedLabel, counter, gauge, histogram } from './metric-row.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

/** How model requests reach the backend. */
export const TRANSPORT_METRICS = {
  upstreamRequests: counter(
    'proxy_upstream_requests_total',
    'Model requests sent to the backend, by transport: `http`, `websocket`. Each attempt counts.',
    ['transport'],
  ),
  upstreamFirstByteSeconds: histogram(
    'proxy_upstream_first_byte_seconds',
    'Time from sending a model request to the first byte of its answer, as the relay sees it, by transport. Over a WebSocket the first bytes are those of the first event of output.',
    ['transport'],
  ),
  upstreamFirstEventSeconds: histogram(
    'proxy_upstream_first_event_seconds',
    'Time from sending a model request to the first event of output, by transport; only if the relay waited for that event.',
    ['transport'],
  ),
  upstreamRetries: counter(
    'proxy_upstream_retries_total',
    'Model requests that the relay sent again because there was no answer.',
  ),
  upstreamResends: counter(
    'proxy_upstream_resends_total',
    'The same by transport of the failed attempt and reason: `closed` (the connection ended before any output), `too-large`, `age-limit`, `duplicate-item` and `out-of-turn` (of a WebSocket), `no-connection`, `no-first-event`, `overloaded`, `server-error`.',
    ['transport', 'reason'],
  ),
  firstEventsLate: counter(
    'proxy_upstream_first_event_late_total',
    'Attempts without output within PROXY_CHATGPT_FIRST_EVENT_TIMEOUT_MS, by transport.',
    ['transport'],
  ),
  websocketDials: counter(
    'proxy_websocket_dials_total',
    'Attempts to open a WebSocket, by outcome: `101`, another status, `timeout`, or the code of an error.',
    ['outcome'],
  ),
  websocketDialSeconds: histogram(
    'proxy_websocket_dial_seconds',
    'How long it took to open a WebSocket; only successful attempts.',
  ),
  websocketSockets: gauge('proxy_websocket_sockets', 'Open WebSockets, by state: `idle`, `busy`.', ['state']),
  websocketLent: counter(
    'proxy_websocket_lent_total',
    'Requests that got a WebSocket, by `socket`: `idle` (at once), `dialled` (after waiting for one).',
    ['socket'],
  ),
  websocketFallbacks: counter(
    'proxy_websocket_fallbacks_total',
    'Requests that were posted although a WebSocket was wanted, by reason: `upgrade-refused`, `dial-paused` (after a failed attempt), `pool-full`, `old-login`, `too-large`, `resend` (after a WebSocket failed), `signed-request` (of an agent access token).',
    ['reason'],
  ),
} as const;

/** Statuses that a WebSocket upgrade is known to get, and errors of connections: not many more exist. */
const MAX_OUTCOMES = 40;

/** Counts what the transport of a backend does, and logs what an operator should know. */
export const reportTransport = (metrics: Metrics, logger: Logger) => {
  const outcomeLabel = boundedLabel(MAX_OUTCOMES);
  let isRefused = false;
  return {
    onSending: (transport: string): void => metrics.upstreamRequests.inc({ transport }),
    onFirstByte: (ms: number, firstEventMs: number | null, transport: string): void => {
      metrics.upstreamFirstByteSeconds.observe({ transport }, ms / 1000);
      if (firstEventMs !== null)
        metrics.upstreamFirstEventSeconds.observe({ transport }, firstEventMs / 1000);
    },
    onRetry: (cause: string, reason: string, transport: string): void => {
      metrics.upstreamRetries.inc();
      metrics.upstreamResends.inc({ transport, reason });
      logger.warn({ cause, reason, transport }, 'a request to the backend failed; sending it again');
    },
    onFirstEventLate: (transport: string): void => metrics.firstEventsLate.inc({ transport }),
    onDial: (outcome: string, ms: number): void => {
      metrics.websocketDials.inc({ outcome: outcomeLabel(outcome) });
      const isOpen = outcome === '101';
      if (isOpen) metrics.websocketDialSeconds.observe(ms / 1000);
      // Only changes are logged: a refusal may last for hours.
      if (!isOpen && !isRefused)
        logger.warn({ outcome }, 'the backend did not open a WebSocket; requests are posted meanwhile');
      if (isOpen && isRefused) logger.info('the backend opens WebSockets again');
      isRefused = !isOpen;
    },
    onPool: (idle: number, busy: number): void => {
      metrics.websocketSockets.set({ state: 'idle' }, idle);
      metrics.websocketSockets.set({ state: 'busy' }, busy);
    },
    onLent: (socket: 'idle' | 'dialled'): void => metrics.websocketLent.inc({ socket }),
    onFallback: (reason: string): void => metrics.websocketFallbacks.inc({ reason }),
  };
};

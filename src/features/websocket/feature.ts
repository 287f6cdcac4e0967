import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';
import { feature, type FeatureTables } from '../../compose/feature.ts';
import { tuning } from '../../config/setting-row.ts';
import { MAX_TIMER_MS, wholeNumber } from '../../config/value.ts';
import { gauge } from '../../observe/metric-row.ts';

const failures = {
  invalid_stream_id: row(
    400,
    "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, underscores, hyphens, and periods.",
    'over a WebSocket: the name of a lane is not valid',
    { after: 'console_not_served' },
  ),
  websocket_stream_limit_reached: row(
    400,
    'This WebSocket connection has reached its maximum number of distinct stream IDs (32). Reuse an existing stream_id or open a new WebSocket connection.',
    'over a WebSocket: the connection has used 32 names of lanes already',
  ),
  websocket_connection_limit_reached: row(
    400,
    'Responses websocket connection limit reached (60 minutes). Create a new websocket connection to continue.',
    'over a WebSocket: the connection is older than 60 minutes; it is closed when its running responses have ended',
  ),
} as const satisfies FeatureFailures;

export const websocketError = featureErrors(failures);

export const WEBSOCKET_TABLES = {
  settings: {
    PROXY_MAX_WEBSOCKETS: tuning({
      at: 'http.maxWebsockets',
      after: 'PROXY_SSE_KEEPALIVE_MS',
      type: wholeNumber(0, 1_000_000, 'connections'),
      default: '1000',
      description:
        'How many WebSockets of clients may be open, fairly between keys; the last place is for keys with the scope `admin`. 0: none, and clients go on over HTTP.',
    }),
    PROXY_WEBSOCKET_IDLE_TIMEOUT_MS: tuning({
      at: 'http.websocketIdleTimeoutMs',
      type: wholeNumber(1, MAX_TIMER_MS, 'ms'),
      default: '1200000',
      description: 'How long a WebSocket may be open without a message or a running response.',
    }),
    PROXY_WEBSOCKET_MEMORY_MB: tuning({
      at: 'http.websocketMemoryMb',
      type: wholeNumber(0, 1_000_000, 'MB'),
      default: '128',
      description:
        'Memory for the latest responses of all WebSockets, so that a request on the same one can continue a response that is not stored. The oldest ones of the key with the most are forgotten first.',
    }),
  },
  failures,
  metrics: {
    clientSockets: {
      ...gauge('proxy_client_websockets', 'Open WebSockets of clients.'),
      after: 'turnRequests',
    },
    socketBytesRemembered: gauge(
      'proxy_client_websocket_memory_bytes',
      'Bytes of conversations that WebSockets of clients remember.',
    ),
  },
  routes: {
    'GET /v1/responses': {
      after: 'POST /v1/messages/count_tokens',
      access: 'key',
      about:
        'Opens a WebSocket that runs many turns; see [WebSocket mode](websocket.md). Without an upgrade: 405.',
    },
    'GET /backend-api/codex/responses': { access: 'key', about: 'The same, where codex looks for it.' },
  },
} as const satisfies FeatureTables;

/** The Responses API over WebSockets: many requests on one connection. */
export const websocket = feature('websocket', WEBSOCKET_TABLES, {
  open: async (...args) => (await import('./open.ts')).openWebsockets(...args),
});

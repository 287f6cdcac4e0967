import { row } from './catalogue-row.ts';

/** Errors of WebSockets. */
export const WEBSOCKET_FAILURES = {
  websocket_not_supported: row(
    426,
    'There is no WebSocket at this URL: send the request over HTTP. WebSockets are served at /v1/responses, unless this server turns them off.',
    'the client asks for a WebSocket at another path, or `PROXY_MAX_WEBSOCKETS` is 0; codex then continues over HTTP',
  ),
  origin_not_allowed: row(
    403,
    'Pages of this origin may not open a WebSocket here.',
    'a web page asks for a WebSocket, and its origin is not in `PROXY_CORS_ALLOWED_ORIGINS`, or a page of another origin uses the session of the console',
  ),
  invalid_stream_id: row(
    400,
    "The 'stream_id' field must be a non-empty string with at most 256 characters and may only contain letters, numbers, underscores, hyphens, and periods.",
    'over a WebSocket: the name of a lane is not valid',
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
} as const;

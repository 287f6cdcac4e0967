import { gatewayError } from '../../canonical/failure/failure.ts';
import { RESPONSES_PATH } from '../../openai/responses/api.ts';
import type { Api } from '../../turns/api.ts';
import { atCodexPaths } from '../codex/own-paths.ts';
import { route, type Route } from '../route.ts';
import { isWebSocket } from '../server.ts';

/** The APIs that are also served over WebSockets. */
export const websocketApis = (apis: readonly Api[]): readonly Api[] => {
  const responses = apis.filter(({ path }) => path === RESPONSES_PATH);
  return [...responses, ...atCodexPaths(responses)];
};

/** An upgrade does not reach these routes, unless this server has no WebSockets. */
export const websocketRoutes = (apis: readonly Api[]): readonly Route[] =>
  websocketApis(apis).map(({ path }) =>
    route(`GET ${path}`, {}, (http) => {
      if (isWebSocket(http)) throw gatewayError('websocket_not_supported');
      throw gatewayError('method_not_allowed', { message: `GET on ${path} has to ask for a WebSocket.` });
    }),
  );

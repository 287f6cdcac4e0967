import { gatewayError } from '../../canonical/failure.ts';
import type { Route } from '../server.ts';
import { quoted } from '../../kit/quote.ts';

/** APIs of OpenAI that clients try and that no app-server can serve. */
const PATHS = ['/v1/embeddings', '/v1/images/:rest{.+}', '/v1/audio/:rest{.+}'];

/** Answered at once, so that a client does not wait, or try again, for what will not come. */
export const unsupportedRoutes = (served: readonly string[]): readonly Route[] =>
  PATHS.map((path) => ({
    method: 'POST',
    path,
    access: 'key',
    handle(http) {
      throw gatewayError('endpoint_not_supported', {
        message: `POST ${quoted(new URL(http.url).pathname)} is not supported here. Served are: ${served.join(', ')}.`,
      });
    },
  }));

import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Route } from '../server.ts';
import { quoted } from '../../kit/text/quote.ts';

/** APIs that clients try and that are not served: of OpenAI, because no app-server can, and Anthropic's. */
const PATHS = [
  '/v1/embeddings',
  '/v1/images/:rest{.+}',
  '/v1/audio/:rest{.+}',
  '/v1/messages',
  '/v1/messages/:rest{.+}',
];

/** Answered at once, so that a client does not wait, or try again, for what will not come. */
export const unsupportedRoutes = (served: readonly string[]): readonly Route[] =>
  PATHS.map((path) => ({
    method: 'POST',
    path,
    access: 'key',
    handle(http) {
      throw gatewayError('endpoint_not_supported', {
        message: `POST ${quoted(new URL(http.url).pathname)} is not supported. Supported endpoints: ${served.join(', ')}.`,
      });
    },
  }));

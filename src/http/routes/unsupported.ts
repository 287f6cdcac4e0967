import { gatewayError } from '../../canonical/failure/failure.ts';
import { route, type Route } from '../route.ts';
import { quoted } from '../../kit/text/display.ts';

/** Unsupported APIs that clients try: those of OpenAI that no app-server can serve. */
const PATHS = ['/v1/images/:rest{.+}', '/v1/audio/:rest{.+}'];

/** Answers with an error, so that a client neither waits nor retries. */
export const unsupportedRoutes = (served: readonly string[]): readonly Route[] =>
  PATHS.map((path) =>
    route(`POST ${path}`, {}, (http) => {
      throw gatewayError('endpoint_not_supported', {
        message: `POST ${quoted(new URL(http.url).pathname)} is not supported. Supported endpoints: ${served.join(', ')}.`,
      });
    }),
  );

import { row } from '../../canonical/failure/catalogue-row.ts';
import { featureErrors, type FeatureFailures } from '../../canonical/failure/failure.ts';
import { feature, type FeatureTables } from '../../compose/feature.ts';
import { deployment } from '../../config/setting-row.ts';
import { oneOf } from '../../config/value.ts';

const failures = {
  console_not_served: row(
    403,
    'The console is not served at this address.',
    'the session of the console over plain HTTP from another machine; `PROXY_CONSOLE=insecure` allows it',
    { final: true, after: 'origin_not_allowed' },
  ),
} as const satisfies FeatureFailures;

export const consoleError = featureErrors(failures);

export const CONSOLE_TABLES = {
  settings: {
    PROXY_CONSOLE: deployment({
      at: 'http.console',
      after: 'PROXY_CORS_ALLOWED_ORIGINS',
      type: oneOf(['on', 'off', 'insecure']),
      default: 'on',
      description:
        'Whether the web console is served at `/console`. `on`: over HTTPS (a reverse proxy sets `x-forwarded-proto`), and over plain HTTP only to a browser on this machine. `insecure`: over plain HTTP to everyone, so that others in the network can read the key and the session. See [console](console.md).',
    }),
  },
  failures,
  routes: {
    'GET /console/session': {
      after: 'GET /docs/:page{.+}',
      access: 'open',
      about: 'Who is signed in to the [console](console.md), for its own pages.',
    },
    'POST /console/session': {
      access: 'open',
      about:
        'Signs in: `{"key": "…"}` with a key that has the scope `admin` or `read`. Answers with a session cookie.',
    },
    'DELETE /console/session': { access: 'open', about: 'Signs out.' },
    'GET /console': {
      access: 'open',
      about: 'The console. For this and the next one see [console](console.md).',
    },
    'GET /console/:path{.*}': { access: 'open', about: 'Its pages and files.' },
  },
} as const satisfies FeatureTables;

/** The web console: its pages, and the sessions of those who are signed in. */
export const webConsole = feature('console', CONSOLE_TABLES, {
  open: async (...args) => (await import('./open.ts')).openConsole(...args),
});

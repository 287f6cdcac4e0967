import { join } from 'node:path';

import { apisOf } from '../../src/compose/endpoints.ts';
import type { RouteRow } from '../../src/compose/feature.ts';
import { loadConfig, FEATURES } from '../../src/compose/features.ts';
import { featureRoutes, mergeRoutes } from '../../src/compose/open-features.ts';
import { mergeRows } from '../../src/kit/collections/merge-rows.ts';
import { INFER } from '../../src/http/guards/scopes.ts';
import { routeTable } from '../../src/http/routes/table.ts';
import type { Route } from '../../src/http/route.ts';
import { HTTP_NOTES } from './http-notes.ts';

/**
 * What each route is for; features say it themselves. A route without a line here, a line without a route, or another access stops the script: to
 * open a route is a decision about security.
 */
const OWN_PURPOSES: Readonly<Record<string, string>> = {
  'key POST /v1/responses': 'Runs one turn. `stream: true` answers with server-sent events, else with JSON.',
  'key POST /v1/responses/compact':
    'Compacts a long conversation into a JSON object whose `output` is the next `input`; see [compaction](compaction.md).',
  'key POST /v1/chat/completions':
    'Runs a turn for each choice. `stream: true` answers with chunks, else with JSON.',
  'key POST /v1/messages':
    "Anthropic's Messages API: runs a turn. `stream: true` answers with events, else with JSON. See [Messages](messages.md).",
  'key POST /v1/completions':
    'The API before chat: prompts, and their answers as text. Runs a turn for each choice of each prompt.',
  'key POST /v1/codex/reviews':
    'Reviews a diff or any text with codex\'s reviewer: `{"input": "…"}`. See [codex methods](codex-methods.md).',
  'key POST /v1/images/generations':
    'Generates images: one turn with the image tool of the backend for each. `stream: true` answers with events, else with JSON.',
  'key POST /v1/images/edits': 'The same with images to change, as a form or as JSON.',
  'key POST /backend-api/codex/responses':
    'The same as `/v1/responses`, where codex looks for it. For this and the next ones see [Codex](clients/codex.md).',
  'key POST /backend-api/codex/responses/compact': 'The same as `/v1/responses/compact`.',
  'key POST /v1/responses/input_tokens':
    'Counts the tokens that a model would read for the same body, without a model request: `{"object": "response.input_tokens", "input_tokens": 11}`. See [token counting](token-counting.md).',
  'key POST /v1/messages/count_tokens':
    'The same for the body of `/v1/messages`, in Anthropic\'s form: `{"input_tokens": 11}`. `max_tokens` may be missing.',
  'key POST /v1/responses/{id}/steer':
    'Sends text to the model of a running stream: `{"input": "…"}`. See [codex methods](codex-methods.md).',
  'key POST /v1/images/{rest}': 'Not supported: 404 `endpoint_not_supported` at once.',
  'key POST /v1/audio/{rest}': 'Not supported: 404 `endpoint_not_supported` at once.',
  'key GET /v1/models':
    "The models of the backend, and the aliases of this server, in OpenAI's or Anthropic's form; see below.",
  'key GET /backend-api/codex/models': 'The models in the form that codex reads.',
  'key GET /backend-api/wham/usage':
    'The remaining limits of the account, in the format that codex reads; none where nothing is metered.',
  'key GET /api/codex/usage': 'The same, for a `chatgpt_base_url` without `/backend-api`.',
  'key GET /v1/models/{id}': 'One of them.',
  'key GET /v1/codex/models':
    'The models of the backend with efforts, tiers and modalities, also those that are not offered. For this and the next ones see [codex methods](codex-methods.md).',
  'key GET /v1/codex/account': 'The backend and plan of the account, and whether a sign-in is needed.',
  'key GET /v1/codex/rate-limits': 'The remaining limits of the account, and when they reset.',
  'key GET /v1/codex/usage': 'The tokens that the account has used, in total and per day.',
  'key GET /v1/codex/config': 'The effective settings of the app-server and of this server, without secrets.',
  'key GET /v1/codex/clients':
    'How to connect clients to this server: the table of the command [connect](clients/README.md), with the address that the request was sent to and a placeholder for the key.',
  'key POST /v1/codex/feedback':
    'Sends feedback to the makers of codex, where `PROXY_ENABLE_FEEDBACK` allows it; else 404 `endpoint_not_supported`.',
  'open GET /':
    'For a browser (`accept: text/html`): a page with the backend, the base URL, where the key is, and a first request. `HEAD` is answered with 200; any other `GET` with 404 `unknown_url`.',
  'open GET /docs/{page}': 'These pages as text, such as `/docs/errors.md`.',
  'open GET /healthz': 'Whether the process is alive.',
  'open GET /readyz':
    'Whether a worker has started a thread and takes turns: 200, else 503. `/readyz?backend`: also 503 if the backend failed when it was last asked.',
  'local GET /metrics':
    'Numbers for Prometheus, see [metrics](metrics.md). `local`: with a key, or without one for a program on this machine itself.',
};

/** `/v1/models/:id{.+}` is how the router writes `/v1/models/{id}`. */
const withoutPattern = (pattern: string): string => pattern.replaceAll(/:(\w+)(\{[^}]*\})?/g, '{$1}');

type Described = Pick<RouteRow, 'access' | 'about' | 'after'>;

const ACCESS_FIRST = /^(open|local|key) (.*)$/;

/** All of them in the order of the routes, by their access, method and path. */
const PURPOSES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(
    mergeRows<Described>(
      Object.fromEntries(
        Object.entries(OWN_PURPOSES).map(([name, about]) => {
          const [, access, route = ''] = ACCESS_FIRST.exec(name) ?? [];
          return [route, { access: access as Route['access'], about }];
        }),
      ),
      FEATURES.map(({ routes = {} }) =>
        Object.fromEntries(
          Object.entries<RouteRow>(routes).map(([name, { access, about, after }]) => [
            withoutPattern(name),
            { access, about, ...(after === undefined ? {} : { after: withoutPattern(after) }) },
          ]),
        ),
      ),
    ),
  ).map(([route, { access, about }]) => [`${access} ${route}`, about]),
);

const notCalled = (): never => {
  throw new Error('the routes are listed here, not served');
};

/** A placeholder for dependencies that listing routes does not use. */
const untouched = new Proxy({}, { get: notCalled }) as never;

/** Not a directory, so that the user's config file is not read. */
const NO_STATE = join(import.meta.filename, 'state');

type ListedRoute = Required<Pick<Route, 'method' | 'path' | 'access' | 'scopes'>>;

/** The route table of a server that is not started. */
export const listRoutes = (): readonly ListedRoute[] =>
  mergeRoutes(
    routeTable({
      apis: apisOf(loadConfig({ PROXY_STATE_DIR: NO_STATE }), untouched, {
        tokenizer: { textOf: notCalled },
        signer: untouched,
      }),
      turns: { runs: { gate: untouched, running: untouched } } as never,
      countLine: { enter: notCalled },
      models: { names: notCalled },
      codex: {
        codexModels: notCalled,
        clock: { now: notCalled },
        clients: notCalled,
        codexAccount: notCalled,
        settings: {},
        sources: {},
        codexVersion: '',
        takesFeedback: false,
      },
      metrics: { print: notCalled, contentType: '' },
      front: { front: { version: '', hasConsole: true, about: notCalled }, docs: { read: notCalled } },
      isReady: notCalled,
      backendHealth: notCalled,
    }),
    FEATURES.map((one) => featureRoutes(one, {})),
  ).map(({ method, path: pattern, access, scopes = INFER }) => ({
    method,
    path: withoutPattern(pattern),
    access,
    scopes: access === 'open' ? [] : scopes,
  }));

/** The routes, and notes on their answers. */
export const describedRoutes = (): readonly string[] => Object.keys(PURPOSES);

export const describeRoutes = (): string => {
  const unused = new Set(Object.keys(PURPOSES));
  const rows = listRoutes().map((route) => {
    const name = `${route.access} ${route.method} ${route.path}`;
    const purpose = PURPOSES[name];
    if (purpose === undefined) throw new Error(`scripts/pages/http-api.ts does not say what ${name} is for`);
    unused.delete(name);
    const scopes = route.scopes.map((scope) => `\`${scope}\``).join(' or ');
    const access = route.access === 'key' ? scopes : [route.access, scopes].filter(Boolean).join(', ');
    return `| \`${route.method} ${route.path}\` | ${access} | ${purpose} |`;
  });
  if (unused.size > 0)
    throw new Error(`scripts/pages/http-api.ts describes no route: ${[...unused].join(', ')}`);
  return [
    '# HTTP API',
    '',
    'A request needs `Authorization: Bearer KEY` or `x-api-key: KEY` (`api-key` too), one of which has to be right, with one of the [scopes](keys.md#scopes) below:',
    '`admin` includes `read`, and keys of the settings have all of them. `open` needs no key.',
    'Every answer carries `x-request-id`. Errors have the form of [errors](errors.md); the fields of requests are in',
    '[parameters](parameters.md).',
    '',
    '| route | scope | what it does |',
    '|---|---|---|',
    ...rows,
    '',
    ...HTTP_NOTES,
  ].join('\n');
};

import type { ModelDirectory } from '../../engine/model-directory.ts';
import type { BackendHealth } from '../../observe/backend-health.ts';
import type { MetricsPage } from '../../observe/metrics.ts';
import {
  atCodexPaths,
  ownPaths,
  type CodexModelSource,
  type OwnPathsDeps,
  modelsForCodex,
} from '../codex/own-paths.ts';
import { codexRoutes, type CodexRouteDeps } from '../codex/routes.ts';
import type { Api } from '../../turns/api.ts';
import { frontRoutes, type FrontDeps } from '../front.ts';
import { serveTurn } from '../turn/serve-turn.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import { route, type Route } from '../route.ts';
import { countRoutes, type CountLine } from './input-tokens.ts';
import {
  projectAnthropicModels as anthropicModels,
  projectAnthropicModel as anthropicModel,
} from '../../anthropic/models.ts';
import { usableNames } from '../../canonical/models/model-names.ts';
import { projectModels, projectOneModel } from '../../openai/models/project.ts';
import { isForAnthropic } from '../answer/error-response.ts';
import { jsonResponse } from '../answer/json-response.ts';
import type { TurnGate } from '../../turns/turn-gate.ts';
import { INFER_OR_READ } from '../guards/scopes.ts';
import { gatewayError } from '../../canonical/failure/failure.ts';
import { quoted } from '../../kit/text/display.ts';
import { readSteer } from '../../openai/responses/input/steer.ts';
import { ignoredHeader } from '../answer/turn-headers.ts';
import { readHeldBody, type BodyDeps } from '../body/read-json.ts';
import type { RunningResponses } from '../../turns/running-responses.ts';

interface SteerDeps extends BodyDeps {
  readonly running: RunningResponses;
}

/** Sends input to the model of a running stream. */
const steerRoute = (deps: SteerDeps): Route =>
  route('POST /v1/responses/:id/steer', {}, async (http, exchange, params) => {
    const id = params['id'] ?? '';
    const { texts, ignored } = readSteer(await readHeldBody(http, exchange, deps));
    await deps.running.steer(id, { caller: exchange.caller(), texts, signal: exchange.signal });
    return Response.json(
      { id, object: 'response.steer', status: 'accepted' },
      { status: 202, headers: ignoredHeader(ignored) },
    );
  });

/** Unsupported APIs that clients try: those of OpenAI that no app-server can serve. */
const PATHS = ['/v1/images/:rest{.+}', '/v1/audio/:rest{.+}'];

/** Answers with an error, so that a client neither waits nor retries. */
const unsupportedRoutes = (served: readonly string[]): readonly Route[] =>
  PATHS.map((path) =>
    route(`POST ${path}`, {}, (http) => {
      throw gatewayError('endpoint_not_supported', {
        message: `POST ${quoted(new URL(http.url).pathname)} is not supported. Supported endpoints: ${served.join(', ')}.`,
      });
    }),
  );

interface ReadinessDeps {
  readonly isReady: () => boolean;
  readonly backendHealth: () => BackendHealth;
}

/**
 * `/readyz` reports whether there is a worker; `/readyz?backend` also whether recent requests to the backend succeeded.
 * They are separate because a load balancer that removes a server with a failing backend would never see it recover:
 * only requests show that.
 */
export const readiness = (http: Request, { isReady, backendHealth }: ReadinessDeps): Response => {
  const isAbout = new URL(http.url).searchParams.has('backend');
  const health = backendHealth();
  const ready = isReady() && !(isAbout && health.state === 'failing');
  const status = ready ? 'ready' : 'not ready';
  return Response.json(isAbout ? { status, backend: shown(health) } : { status }, {
    status: ready ? 200 : 503,
  });
};

const shown = (health: BackendHealth): object =>
  health.state === 'unknown' ? health : { ...health, since: new Date(health.since).toISOString() };

interface VisibleModels {
  readonly models: ModelDirectory;
  /** A key sees only the models that it may use. */
  readonly modelFilter: TurnGate['modelFilter'];
}

interface ModelRouteDeps extends VisibleModels {
  readonly codex: CodexModelSource;
}

/** The model list, in OpenAI's or Anthropic's form: both APIs have it at this path. */
const modelListRoute = ({ models, modelFilter, codex }: ModelRouteDeps): Route =>
  route('GET /v1/models', { scopes: INFER_OR_READ }, async (http, exchange) => {
    const { signal } = exchange;
    const mayUse = modelFilter(exchange.caller());
    const names = usableNames(await models.names(), mayUse);
    if (!isForAnthropic(http)) {
      return jsonResponse({ ...projectModels(names), ...modelsForCodex(http, codex, mayUse) }, {}, signal);
    }
    return jsonResponse(anthropicModels(names, new URL(http.url).searchParams), {}, signal);
  });

const modelRoute = ({ models, modelFilter }: VisibleModels): Route =>
  route('GET /v1/models/:id{.+}', { scopes: INFER_OR_READ }, async (http, exchange, { id = '' }) => {
    const names = usableNames(await models.names(), modelFilter(exchange.caller()));
    return Response.json(isForAnthropic(http) ? anthropicModel(names, id) : projectOneModel(names, id));
  });

export interface RouteDeps {
  readonly apis: readonly Api[];
  readonly turns: TurnDeps;
  readonly countLine: CountLine;
  readonly models: ModelDirectory;
  readonly codex: Omit<CodexRouteDeps, 'models' | 'modelFilter' | 'bodies'> &
    Pick<OwnPathsDeps, 'codexModels' | 'clock'>;
  /** Null: not served. */
  readonly metrics: MetricsPage | null;
  readonly front: FrontDeps;
  readonly isReady: () => boolean;
  /** The results of recent requests. */
  readonly backendHealth: () => BackendHealth;
}

/** The APIs at all of their paths. */
export const turnApis = (apis: readonly Api[]): readonly Api[] => [...apis, ...atCodexPaths(apis)];

/** The routes that belong to no feature. */
export const routeTable = (deps: RouteDeps): readonly Route[] => {
  const { gate, running } = deps.turns.runs;
  const modelFilter = (caller: string) => gate.modelFilter(caller);
  return [
    ...turnApis(deps.apis).map((api): Route =>
      route(`POST ${api.path}`, { errors: api.errors }, serveTurn(api, deps.turns)),
    ),
    ...countRoutes(deps.apis, deps.turns, deps.countLine),
    steerRoute({ ...deps.turns, running }),
    ...unsupportedRoutes([
      ...deps.apis.map((api) => `POST ${api.path}`),
      ...deps.apis.flatMap(({ count }) => (count === undefined ? [] : [`POST ${count.path}`])),
      'GET /v1/models',
    ]),
    modelListRoute({ ...deps, modelFilter }),
    ...ownPaths({ ...deps.codex, modelFilter }),
    modelRoute({ ...deps, modelFilter }),
    ...codexRoutes({ ...deps, ...deps.codex, modelFilter, bodies: deps.turns }),
    ...frontRoutes(deps.front),
    route('GET /healthz', { access: 'open' }, () => Response.json({ status: 'ok' })),
    route('GET /readyz', { access: 'open' }, (http) => readiness(http, deps)),
    ...(deps.metrics === null ? [] : [metricsRoute(deps.metrics)]),
  ];
};

const metricsRoute = (metrics: MetricsPage): Route =>
  route(
    'GET /metrics',
    { access: 'local', scopes: ['read'] },
    async () => new Response(await metrics.print(), { headers: { 'content-type': metrics.contentType } }),
  );

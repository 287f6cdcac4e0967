import type { ModelDirectory } from '../../engine/model-directory.ts';
import type { BackendHealth } from '../../observe/backend-health.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { atCodexPaths, ownPaths, type OwnPathsDeps } from '../codex/own-paths.ts';
import { allConversationsRoutes, type AllConversationsRouteDeps } from '../codex/conversations.ts';
import { codexRoutes, type CodexRouteDeps } from '../codex/routes.ts';
import type { Api } from '../../turns/api.ts';
import { frontRoutes, type FrontDeps } from '../front.ts';
import { modelListRoute, modelRoute } from './models.ts';
import { readiness } from './readiness.ts';
import { serveTurn } from '../turn/serve-turn.ts';
import type { TurnDeps } from '../turn/start-turn.ts';
import { route, type Route } from '../route.ts';
import { countRoutes, type CountLine } from './input-tokens.ts';
import { conversationRoutes, type KeptConversations } from './conversations.ts';
import { cancelRoute } from './cancel-response.ts';
import { steerRoute } from './steer.ts';
import type { StoredResponses } from '../../state/stored-responses.ts';
import { storedResponseRoutes } from './stored-responses.ts';
import { storedChatRoutes, type KeptChats } from './stored-chats.ts';
import { unsupportedRoutes } from './unsupported.ts';

export interface RouteDeps {
  readonly apis: readonly Api[];
  readonly turns: TurnDeps;
  readonly countLine: CountLine;
  readonly storedResponses: StoredResponses;
  /** Null: nothing is stored. */
  readonly kept: (KeptConversations & KeptChats & NonNullable<AllConversationsRouteDeps['kept']>) | null;
  readonly models: ModelDirectory;
  readonly codex: Omit<CodexRouteDeps, 'models' | 'modelFilter' | 'bodies'> &
    Pick<OwnPathsDeps, 'codexModels' | 'clock'>;
  /** Null: not served. */
  readonly metrics: Pick<Metrics, 'print' | 'contentType'> | null;
  readonly front: FrontDeps;
  readonly isReady: () => boolean;
  /** The results of recent requests. */
  readonly backendHealth: () => BackendHealth;
}

/** The APIs at all of their paths. */
export const turnApis = (apis: readonly Api[]): readonly Api[] => [...apis, ...atCodexPaths(apis)];

/** The routes that belong to no feature. */
export const routeTable = (deps: RouteDeps): readonly Route[] => {
  const { gate } = deps.turns;
  const modelFilter = (caller: string) => gate.modelFilter(caller);
  const mayKeep = (caller: string) => gate.keep(caller);
  return [
    ...turnApis(deps.apis).map((api): Route =>
      route(`POST ${api.path}`, { errors: api.errors }, serveTurn(api, deps.turns)),
    ),
    ...countRoutes(deps.apis, deps.turns, deps.countLine),
    steerRoute(deps.turns),
    ...storedResponseRoutes({ responses: deps.storedResponses, room: deps.turns }),
    cancelRoute({ responses: deps.storedResponses, room: deps.turns }),
    ...conversationRoutes({ kept: deps.kept, mayKeep, bodies: deps.turns }),
    ...storedChatRoutes({ kept: deps.kept, mayKeep, bodies: deps.turns }),
    ...unsupportedRoutes([
      ...deps.apis.map((api) => `POST ${api.path}`),
      ...deps.apis.flatMap(({ count }) => (count === undefined ? [] : [`POST ${count.path}`])),
      'GET /v1/models',
    ]),
    modelListRoute({ ...deps, modelFilter }),
    ...ownPaths({ ...deps.codex, modelFilter }),
    modelRoute({ ...deps, modelFilter }),
    ...codexRoutes({ ...deps, ...deps.codex, modelFilter, bodies: deps.turns }),
    ...allConversationsRoutes({ kept: deps.kept, bodies: deps.turns }),
    ...frontRoutes(deps.front),
    route('GET /healthz', { access: 'open' }, () => Response.json({ status: 'ok' })),
    route('GET /readyz', { access: 'open' }, (http) => readiness(http, deps)),
    ...(deps.metrics === null ? [] : [metricsRoute(deps.metrics)]),
  ];
};

const metricsRoute = (metrics: Pick<Metrics, 'print' | 'contentType'>): Route =>
  route(
    'GET /metrics',
    { access: 'local', scopes: ['read'] },
    async () => new Response(await metrics.print(), { headers: { 'content-type': metrics.contentType } }),
  );

import type { CodexHomes } from '../codex/home/prepare-home.ts';
import { type Config, shownSettings, shownSources } from '../config/schema.ts';
import type { Exchanges } from '../http/exchange/exchanges.ts';
import { createDocPages } from '../http/front.ts';
import type { OwnKey } from '../http/guards/own-secrets.ts';
import { createCountLine } from '../http/routes/input-tokens.ts';
import { routeTable, type RouteDeps } from '../http/routes/table.ts';
import type { Route } from '../http/route.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Metrics } from '../observe/metrics.ts';
import { VERSION } from '../version.ts';
import { aboutServer } from './about-server.ts';
import { clientsOf } from './clients.ts';
import { ALL_SETTINGS } from './feature-tables.ts';
import type { ActiveBackend } from './active-backend.ts';
import type { OpenState } from './state.ts';

export interface RouteParts extends Pick<RouteDeps, 'apis' | 'turns' | 'backendHealth'> {
  readonly hasConsole: boolean;
  readonly exchanges: () => Exchanges;
  readonly state: Pick<OpenState, 'responses' | 'kept'>;
  readonly active: ActiveBackend;
  readonly homes: CodexHomes;
  readonly ownKey: OwnKey | null;
  readonly metrics: Metrics;
}

/** The routes that belong to no feature, each with the parts that it needs. */
export const routesOf = (config: Config, parts: RouteParts): readonly Route[] => {
  const { apis, turns, backendHealth, state, active, homes, ownKey } = parts;
  const { hasConsole, metrics, exchanges } = parts;
  return routeTable({
    apis,
    turns,
    storedResponses: state.responses,
    kept: state.kept,
    countLine: createCountLine({
      clock: systemAmbient.clock,
      onRefused: (reason) => metrics.refused.inc({ reason }),
    }),
    models: active.models,
    codex: codexRouteDeps(config, homes, active),
    metrics: config.log.metrics ? metrics : null,
    front: {
      front: {
        version: VERSION,
        hasConsole,
        about: (isLocal) => aboutServer(active.backend.state, ownKey, isLocal),
      },
      docs: createDocPages(),
    },
    isReady: () => active.backend.ready() && !exchanges().isDraining,
    backendHealth,
  });
};

const codexRouteDeps = (config: Config, homes: CodexHomes, active: ActiveBackend): RouteDeps['codex'] => ({
  codexAccount: () => active.backend.codexAccount,
  codexModels: () => active.backend.codexModels(),
  clock: systemAmbient.clock,
  clients: clientsOf(),
  settings: shownSettings(config, ALL_SETTINGS),
  sources: shownSources(config, ALL_SETTINGS),
  codexVersion: homes.binary.version,
  takesFeedback: config.codex.feedback,
});

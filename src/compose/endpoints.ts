import type { CodexHomes } from '../codex/home/prepare-home.ts';
import { type Config, shownSettings, shownSources } from '../config/schema.ts';
import type { Exchanges } from '../http/exchange/exchanges.ts';
import { createDocPages } from '../http/front.ts';
import { createCountLine } from '../http/routes/input-tokens.ts';
import { routeTable, type RouteDeps } from '../http/routes/table.ts';
import type { Route } from '../http/route.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Metrics } from '../observe/metrics.ts';
import { VERSION } from '../version.ts';
import { aboutServer } from './banner.ts';
import { ALL_SETTINGS } from './features.ts';
import type { ActiveBackend } from './active-backend.ts';
import type { Base } from './core.ts';
import { FAMILY } from '../canonical/models/model-names.ts';
import { USUAL_OUTPUT, USUAL_WINDOW } from '../connect/client.ts';
import { describeClients } from '../connect/describe.ts';
import type { ClientsRouteDeps } from '../http/codex/clients.ts';
import { messagesApi, type MessagesOptions } from '../anthropic/messages/api.ts';
import { transportFor } from '../engine/prose-tools/prose-engine.ts';
import { chatApi } from '../openai/chat/api.ts';
import { completionsApi } from '../openai/completions/api.ts';
import type { DialectSettings } from '../openai/dialects/dialect.ts';
import { imageEditsApi, imagesApi } from '../openai/images/api.ts';
import { responsesApi, compactionApi } from '../openai/responses/api.ts';
import { reviewsApi } from '../openai/reviews/api.ts';
import type { ThreadedTokenizer } from '../tokenizer/threaded-tokenizer.ts';
import type { Api } from '../turns/api.ts';

interface ApiDeps extends Pick<MessagesOptions, 'signer'> {
  readonly tokenizer: Pick<ThreadedTokenizer, 'textOf'>;
}

/** The APIs that run turns, as configured. A new API is registered here. */
export const apisOf = (
  config: Config,
  metrics: Metrics,
  { tokenizer, ...messages }: ApiDeps,
): readonly Api[] => {
  const onNativeOnly: DialectSettings['onNativeOnly'] = (reason) => metrics.xmlNativeOnly.inc({ reason });
  const { outputMode, responsesOutputMode } = config.clients;
  return [
    ...[responsesApi, compactionApi].map((api) =>
      api({
        layout: config.api.responsesLayout,
        usagePolicy: config.api.usagePolicy,
        stores: config.state.store === 'on',
        ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
        parallelCalls: config.tools.parallelCalls,
        omitsTools: (model) =>
          config.api.omitToolManifest && transportFor(config.api.toolTransport, model) === 'native',
        dialect: { ...config.clients, mode: responsesOutputMode ?? outputMode, onNativeOnly },
      }),
    ),
    chatApi({
      usagePolicy: config.api.usagePolicy,
      ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
      showReasoning: config.api.chatReasoning,
      stores: config.state.store === 'on',
      parallelCalls: config.tools.parallelCalls,
      dialect: { ...config.clients, mode: outputMode, onNativeOnly },
    }),
    messagesApi({
      stores: config.state.store === 'on',
      ignoreClientPrompt: config.api.ignoreClientSystemPrompt,
      parallelCalls: config.tools.parallelCalls,
      ...messages,
    }),
    completionsApi({
      usagePolicy: config.api.usagePolicy,
      textOf: (tokens, by) => tokenizer.textOf(tokens, by),
    }),
    reviewsApi({ usagePolicy: config.api.usagePolicy }),
    ...[imagesApi, imageEditsApi].map((api) =>
      api({ chatModel: config.images.chatModel, usagePolicy: config.api.usagePolicy }),
    ),
  ];
};

/** Replaced by people with a key of their own: the answer never contains one. */
const KEY = 'YOUR_API_KEY';

/** How clients are connected to this server, from the table of the command `connect`. */
const clientsOf = (): ClientsRouteDeps['clients'] => {
  // A clone runs its TypeScript.
  const command = import.meta.url.endsWith('.ts') ? 'npm run connect --' : 'codex-app-server-proxy connect';
  return (url, names) => {
    const standard = names.find(FAMILY)?.info ?? null;
    // The key may not use the default model: it names another one.
    const info = standard ?? names.list.models[0] ?? names.list.unlisted[0] ?? null;
    const id = info?.id ?? FAMILY;
    const model = {
      id,
      isChosen: info !== standard,
      title: info?.displayName ?? id,
      contextWindow: info?.contextWindow ?? USUAL_WINDOW,
      maxOutputTokens: info?.maxOutputTokens ?? USUAL_OUTPUT,
    };
    return describeClients({ url, key: KEY, keyFile: null, model }).map((client) => ({
      ...client,
      command: `${command} ${client.id} --url ${url}`,
    }));
  };
};

interface RouteParts extends Pick<RouteDeps, 'turns'> {
  readonly base: Base;
  readonly active: ActiveBackend;
  readonly hasConsole: boolean;
  readonly exchanges: () => Exchanges;
}

/** The routes that belong to no feature, each with the parts that it needs. */
export const routesOf = ({ base, turns, active, hasConsole, exchanges }: RouteParts): readonly Route[] => {
  const { config, apis, metrics, homes, ownKey, backendWatch } = base;
  return routeTable({
    apis,
    turns,
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
    backendHealth: () => backendWatch.health(),
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

import type { Failure } from '../canonical/failure/failure.ts';
import type { BackendTarget, LoginBackend } from '../codex/home/backend.ts';
import type { Refusals } from '../codex/capabilities/refusals.ts';
import type { ConversationIds } from '../codex/relay/request/affinity.ts';
import { LISTED_PARAMETERS, profileOf } from '../codex/capabilities/profile.ts';
import type { RenewedLogin } from '../codex/relay/transport/renewals.ts';
import { startRelay, type Relay } from '../codex/relay/server/relay.ts';
import type { RelayAddresses, RelayTargets } from '../codex/relay/server/relay-routes.ts';
import type { Config } from '../config/schema.ts';
import { assertNever } from '../kit/assert-never.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { reportTransport } from '../observe/transport-metrics.ts';
import { reportForeignTools, reportRelayLosses } from '../observe/upstream-losses.ts';
import { CookieJar } from '../codex/relay/transport/cookies.ts';
import { openDispatcher } from '../codex/relay/transport/dispatcher.ts';
import { httpTransport } from '../codex/relay/transport/http-transport.ts';
import type { ModelTransport } from '../codex/relay/transport/model-transport.ts';
import { proxySettings, readTrust } from '../codex/relay/transport/outbound.ts';
import { createDial } from '../codex/relay/transport/websocket/dial.ts';
import { DialPacing } from '../codex/relay/transport/websocket/dial-pacing.ts';
import { SocketPool } from '../codex/relay/transport/websocket/pool.ts';
import { webSocketTransport } from '../codex/relay/transport/websocket/websocket-transport.ts';

interface RelayTransportOptions {
  /** Null: not a ChatGPT login. */
  readonly chatgpt: Pick<Config['upstream'], 'chatgptBaseUrl' | 'chatgptTransport'> | null;
  /** The URLs that are connected to. */
  readonly targets: readonly string[];
  readonly environment: Environment;
  readonly report: ReturnType<typeof reportTransport>;
}

/** How the relay reaches its backend. */
const openTransport = async ({ chatgpt, targets, environment, report }: RelayTransportOptions) => {
  const { clock } = systemAmbient;
  const cookies = chatgpt === null ? null : new CookieJar(chatgpt.chatgptBaseUrl, clock);
  const dispatcher = await openDispatcher(targets, environment);
  const freshDispatcher = await openDispatcher(targets, environment, 'fresh');
  const http = httpTransport({ dispatcher, freshDispatcher, cookies });
  const mode = chatgpt?.chatgptTransport ?? 'http';
  const withSockets = async (sockets: 'auto' | 'websocket'): Promise<ModelTransport> => {
    const trust = await readTrust(targets, environment);
    const { onDial, onPool: onChange, onLent, onFallback } = report;
    const dial = createDial({ clock, cookies, trust, proxies: proxySettings(environment), onDial });
    const pool = new SocketPool({ dial, pacing: new DialPacing(clock), clock, onChange, onLent });
    return webSocketTransport({ mode: sockets, http, pool, clock, onFallback });
  };
  const transport = mode === 'http' ? http : await withSockets(mode);
  return {
    transport,
    cookies,
    dispatcher,
    close: async (): Promise<void> => {
      transport.close();
      await dispatcher.destroy();
      await freshDispatcher.destroy();
    },
  };
};

export interface PlacedRelay {
  /** Null if model requests do not pass through it. */
  readonly relay: Relay | null;
  /** The backend as the app-server sees it: the relay, if there is one. */
  readonly backend: BackendTarget;
  /** Why the access token of the login was not confirmed; null: it was, or that is not known here. */
  tokenFailure(): Failure | null;
  close(): Promise<void>;
}

/**
 * What passes through the relay. `on`: everything that an app-server sends. `off`: everything but model requests.
 * `bypass`: as little as possible, because block pages stop this process.
 */
export type Wire = 'on' | 'off' | 'bypass';

export interface PlaceRelayOptions {
  readonly config: Config['upstream'];
  readonly wire: Wire;
  readonly environment: Environment;
  /** Stores renewed tokens. */
  readonly login: RenewedLogin;
  readonly cacheIds: ConversationIds;
  readonly refusals: Refusals;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The relay received a block page. */
  readonly onBlocked: () => void;
  /** The backend itself answered. */
  readonly onServed: () => void;
}

/** codex's own address for requests with an API key. */
const API_TARGET = 'https://api.openai.com/v1';
const AUTH_TARGET = 'https://auth.openai.com';
const AUTH_API = `${AUTH_TARGET}/api/accounts`;

/**
 * Places a relay between the app-server and its backend, unless configured otherwise. A ChatGPT login always has one:
 * without it codex would request the account's settings before each turn, and might add them to the prompt.
 */
export const placeRelay = async (
  backend: BackendTarget,
  options: PlaceRelayOptions,
): Promise<PlacedRelay> => {
  const { config, logger, metrics } = options;
  const targets = targetsOf(backend, options);
  const addresses = Object.values(targets).filter((target) => target !== null);
  if (backend.kind === 'none' || addresses.length === 0)
    return { relay: null, backend, tokenFailure: () => null, close: async () => {} };
  const unknown = unknownParams(config.params ?? []);
  if (unknown.length > 0) logger.warn({ unknown }, 'PROXY_UPSTREAM_PARAMS contains unknown parameters');
  const profile = profileOf(backend, config.params);
  const report = reportTransport(metrics, logger);
  const { transport, cookies, dispatcher, close } = await openTransport({
    chatgpt: profile.isChatgpt ? config : null,
    targets: addresses,
    environment: options.environment,
    report,
  });
  const relay = await startRelay({
    clock: systemAmbient.clock,
    targets,
    apiKey: backend.kind === 'upstream' ? config.apiKey : null,
    transport,
    dispatcher,
    cookies,
    idleTimeoutMs: config.idleTimeoutMs,
    // A local model may take minutes to its first token.
    firstEventTimeoutMs:
      profile.isChatgpt && config.chatgptFirstEventTimeoutMs > 0 ? config.chatgptFirstEventTimeoutMs : null,
    profile,
    refusals: options.refusals,
    affinity: { cacheIds: options.cacheIds, cacheKeys: profile.isChatgpt ? 'uuid' : 'any' },
    ...report,
    onLearnt: (model, field) => logger.warn({ model, field }, 'the backend rejects a parameter'),
    onBlocked: options.onBlocked,
    onServed: options.onServed,
    mintCallId: () => systemAmbient.ids.mint('call'),
    ...reportRelayLosses(metrics, logger),
    onUnplaced: () => metrics.relayUnplaced.inc(),
    onAdded: (items) => metrics.upstreamAnomalies.inc({ oddity: 'prompt-addition-removed' }, items),
    onForeignTools: reportForeignTools(metrics, logger),
    onLost: (reason) => {
      metrics.carrierLosses.inc({ reason });
      logger.error({ reason }, 'a model request of the app-server was not that of its turn; it was not sent');
    },
    login: options.login,
    onRenewalThrottled: () =>
      logger.warn('the login is renewed too often; renewal postponed: check the clock of this machine'),
    onBug: (err) => logger.error({ err }, 'the relay aborted a request'),
  });
  return {
    relay: targets.model === null ? null : relay,
    backend: throughRelay(backend, relay.addresses, targets, options.environment),
    tokenFailure: () => relay.tokenFailure(),
    async close() {
      await relay.close();
      await close();
    },
  };
};

const unknownParams = (names: readonly string[]): readonly string[] => {
  const known = new Set<string>([...LISTED_PARAMETERS, 'all', 'none']);
  return names.filter((name) => !known.has(name));
};

const NOWHERE: RelayTargets = { model: null, account: null, refresh: null, revoke: null, authApi: null };

const targetsOf = (
  backend: BackendTarget,
  { config, wire, environment }: PlaceRelayOptions,
): RelayTargets => {
  if (backend.kind === 'login' && backend.login === 'chatgpt') {
    const account = config.chatgptBaseUrl;
    if (wire === 'bypass') return { ...NOWHERE, account };
    return {
      model: wire === 'on' ? `${account}/codex` : null,
      account,
      refresh: environment['CODEX_REFRESH_TOKEN_URL_OVERRIDE'] ?? `${AUTH_TARGET}/oauth/token`,
      revoke: environment['CODEX_REVOKE_TOKEN_URL_OVERRIDE'] ?? `${AUTH_TARGET}/oauth/revoke`,
      authApi: backend.accessToken === null ? null : authApiOf(environment),
    };
  }
  if (wire !== 'on' || backend.kind === 'none') return NOWHERE;
  return { ...NOWHERE, model: backend.kind === 'login' ? (backend.baseUrl ?? API_TARGET) : backend.baseUrl };
};

/** The backend as the app-server sees it. The relay adds a provider's key, so that it stays here. */
const throughRelay = (
  backend: BackendTarget,
  at: RelayAddresses,
  targets: RelayTargets,
  environment: Environment,
): BackendTarget => {
  const placed = (name: keyof RelayAddresses): string | null => (targets[name] === null ? null : at[name]);
  switch (backend.kind) {
    case 'upstream':
      return { kind: 'upstream', baseUrl: at.model, apiKeyEnv: null };
    case 'demo':
      return { kind: 'demo', baseUrl: at.model };
    case 'login':
      return {
        ...backend,
        baseUrl: placed('model') ?? directUrl(backend, targets),
        chatgptBaseUrl: placed('account'),
        refreshUrl: placed('refresh') ?? environment['CODEX_REFRESH_TOKEN_URL_OVERRIDE'] ?? null,
        revokeUrl: placed('revoke') ?? environment['CODEX_REVOKE_TOKEN_URL_OVERRIDE'] ?? null,
        authApiUrl: placed('authApi') ?? (backend.accessToken === null ? null : authApiOf(environment)),
      };
    case 'none':
      return backend;
    default:
      return assertNever(backend);
  }
};

/** codex derives the backend from the account's address, which points to the relay: without the relay, name it explicitly. */
const directUrl = ({ baseUrl }: LoginBackend, { account }: RelayTargets): string | null =>
  account === null ? baseUrl : `${account}/codex`;

/** Where access tokens are checked: codex's variable or its default. */
export const authApiOf = (environment: Environment): string =>
  (environment['CODEX_AUTHAPI_BASE_URL'] ?? '').trim().replace(/\/+$/, '') || AUTH_API;

type Environment = Readonly<Record<string, string | undefined>>;

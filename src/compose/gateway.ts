import type { Config } from '../config/schema.ts';
import type { ConsoleDeps } from '../http/console/routes.ts';
import { acceptSessions } from '../http/console/session-authenticator.ts';
import type { OwnKey } from '../http/guards/api-key-file.ts';
import { createAuthenticator, findCallerIn, type Authenticator } from '../http/guards/authenticate.ts';
import { createTrustedProxies } from '../http/guards/client-address.ts';
import { createCors, type Cors } from '../http/guards/cors.ts';
import { acceptNamedKeys } from '../http/guards/named-keys.ts';
import { KeyAdmin } from '../keys/key-admin.ts';
import type { KeyIds } from '../keys/key-ids.ts';
import { LiveKeys } from '../keys/live-keys.ts';
import { NO_NAMED_KEYS, type KeyDirectory } from '../keys/key.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RequestObserver } from '../observe/request-observer.ts';
import type { Store } from '../store/store.ts';
import { openConsole } from './console.ts';
import { openRequestLog, type OpenRequestLog } from './request-log.ts';
import type { Api } from '../turns/api.ts';
import { telemetryOf } from './telemetry.ts';
import type { KeyGate } from '../keys/key-gate.ts';
import { openLimits, type OpenLimits } from './limits.ts';

export interface GatewayDeps {
  /** The key of an installation without a configured one. */
  readonly ownKey: OwnKey | null;
  /** Null: nothing is stored. */
  readonly store: Store | null;
  readonly keyIds: KeyIds;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly apis: readonly Api[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly models: ModelDirectory;
}

/** Who may use the server, how much, and what is known about it. */
export interface Gateway {
  /** Null: not served. */
  readonly console: ConsoleDeps | null;
  readonly authenticate: Authenticator;
  readonly keys: KeyDirectory;
  /** Null: nothing is stored. */
  readonly keyAdmin: KeyAdmin | null;
  /** Whether the key has the scope `admin`. Those of the configuration have it. */
  readonly isAdmin: (keyId: string) => boolean;
  readonly cors: Cors;
  readonly gate: KeyGate;
  readonly limitsOf: OpenLimits['statusOf'];
  readonly storage: OpenLimits['storage'];
  /** They watch every request. */
  readonly observers: readonly RequestObserver[];
  /** What is known about requests. */
  readonly requests: OpenRequestLog;
  close(): Promise<void>;
}

export const openGateway = async (config: Config, deps: GatewayDeps): Promise<Gateway> => {
  const { http } = config;
  const { store, models, logger, metrics } = deps;
  const { byKey, live, admin } = await openKeys(config, deps);
  const telemetry = await telemetryOf(deps.environment, logger);
  const keys = live ?? NO_NAMED_KEYS;
  const console = openConsole(http, { byKey, keys, store });
  const limits = openLimits(config, { store, directory: keys, models, metrics, logger });
  const requests = openRequestLog(config, { ...deps, keyNames: (id) => keys.byId(id)?.name ?? null });
  return {
    console,
    requests,
    authenticate: console === null ? byKey : acceptSessions(byKey, console.sessions, console.mode),
    keys,
    keyAdmin: admin,
    isAdmin: (keyId) => keys.byId(keyId)?.scopes.includes('admin') ?? true,
    cors: createCors(http.corsAllowedOrigins),
    gate: limits.gate,
    storage: limits.storage,
    limitsOf: (keyId) => limits.statusOf(keyId),
    observers: [requests.log, ...(telemetry === null ? [] : [telemetry.observer])],
    async close() {
      await limits.close();
      await requests.log.close();
      await live?.close();
      await telemetry?.close();
    },
  };
};

interface OpenKeys {
  readonly byKey: Authenticator;
  /** Null: nothing is stored. */
  readonly live: LiveKeys | null;
  readonly admin: KeyAdmin | null;
}

/** The keys of the configuration work without a store; named keys are in it. */
const openKeys = async (
  { http }: Config,
  { ownKey, store, keyIds, logger }: GatewayDeps,
): Promise<OpenKeys> => {
  const configured = ownKey === null ? http.apiKeys : [ownKey.key];
  if (store === null) return { byKey: createAuthenticator(configured, keyIds), live: null, admin: null };
  const live = await LiveKeys.open({
    store: store.keys,
    clock: systemAmbient.clock,
    onTrouble: (err) => logger.warn({ err }, 'named keys could not be read; known ones go on working'),
    held: {
      onUnwritten: (keyId, hold, err) =>
        logger.error(
          { keyId, hold, err },
          'change of a key not written: it holds in memory, and is tried again',
        ),
      onWritten: (keyId, hold) => logger.info({ keyId, hold }, 'change of a key written'),
      onLost: (keyId, hold, err) => logger.error({ keyId, hold, err }, 'change of a key was never written'),
    },
  });
  store.watch((announcement, what) => {
    if (what === 'key') live.heard(announcement);
  });
  return {
    byKey: acceptNamedKeys({
      configured: findCallerIn(configured, keyIds),
      keys: live,
      proxies: createTrustedProxies(http.trustedProxies),
      onWrongAddress: (facts) => logger.warn(facts, 'key rejected: the address is not allowed'),
    }),
    live,
    admin: new KeyAdmin({
      store: store.keys,
      limits: store.limits,
      ambient: systemAmbient,
      onChanged: () => live.changed().catch(() => undefined),
      live,
    }),
  };
};

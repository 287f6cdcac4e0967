import { gatewayError } from '../../canonical/failure/failure.ts';
import type { Core, OpenFeature, Own } from '../../compose/feature.ts';
import { SignInLimit } from '../../http/guards/sign-in-limit.ts';
import { partOf } from '../../store/part.ts';
import type { Store } from '../../store/store.ts';
import type { KEY_TABLES } from './feature.ts';
import { KeyAdmin } from './key-admin.ts';
import { KeyGate } from './key-gate.ts';
import { readLimitStatus } from './key-limits.ts';
import { KeyStorage } from './key-storage.ts';
import { NO_NAMED_KEYS } from './key.ts';
import { limitStore } from './limit-store.ts';
import { LiveKeys } from './live-keys.ts';
import { acceptNamedKeys } from './named-keys.ts';
import { Reservations } from './reservations.ts';
import { keyRoutes } from './routes.ts';
import { keyStore } from './store.ts';

/** A key with limits cannot be used without a store. */
const NO_RESERVATIONS = { reserve: () => Promise.reject(gatewayError('store_unavailable')) };

/** The keys of the configuration work without a store; named keys are in it. */
export const openKeys = async (
  core: Core,
  { settings, metrics, offers }: Own<typeof KEY_TABLES>,
): Promise<OpenFeature<typeof KEY_TABLES>> => {
  const { ambient, bodies, store, models, prices, logger, configuredKeys } = core;
  const limits = store === null ? null : partOf(store, limitStore);
  const named = store === null ? null : await openNamedKeys(store, core);
  const directory = named?.live ?? NO_NAMED_KEYS;
  const reservations =
    limits === null
      ? null
      : new Reservations({
          store: limits,
          ambient,
          onUnsettled(err) {
            metrics.limitsUnsettled.inc();
            logger.error({ err }, 'usage of a key not settled: its reserve counts as used');
          },
        });
  const storage =
    store === null
      ? null
      : new KeyStorage({ directory, store: store.kept, defaultMb: settings.keyStorageMb });
  const gate = new KeyGate({
    directory,
    storage,
    reservations: reservations ?? NO_RESERVATIONS,
    prices,
    modelInfo: async (model) => (await models.names()).find(model)?.info ?? null,
    onRefused: (code) => metrics.keyRefusals.inc({ code }),
  });
  return {
    routes: keyRoutes({
      admin: named?.admin ?? null,
      storage,
      clock: ambient.clock,
      bodies,
      configured: configuredKeys.texts,
      proofLimit: new SignInLimit(ambient.clock),
    }),
    offers: {
      gate,
      authenticate:
        named === null
          ? offers.authenticate
          : acceptNamedKeys({
              configured: configuredKeys.find,
              keys: named.live,
              proxies: core.proxies,
              onWrongAddress: (facts) => logger.warn(facts, 'key rejected: the address is not allowed'),
            }),
      isAdmin: (keyId) => directory.byId(keyId)?.scopes.includes('admin') ?? true,
      // A key that was deleted has none.
      workspacesOf: (keyId) =>
        directory.byId(keyId)?.workspaces ?? (directory.refusalOf(keyId) === null ? 'all' : []),
      keyName: (keyId) => directory.byId(keyId)?.name ?? null,
      async limitsOf(keyId) {
        const key = directory.byId(keyId);
        if (key === null || limits === null) return [];
        return (await readLimitStatus(key, limits)).map((status) => ({ ...status }));
      },
    },
    async close() {
      await reservations?.close();
      await named?.live.close();
    },
  };
};

const openNamedKeys = async (
  store: Store,
  { ambient, logger }: Core,
): Promise<{ readonly live: LiveKeys; readonly admin: KeyAdmin }> => {
  const keys = partOf(store, keyStore);
  const live = await LiveKeys.open({
    store: keys,
    clock: ambient.clock,
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
  const admin = new KeyAdmin({
    store: keys,
    limits: partOf(store, limitStore),
    ambient,
    onChanged: () => live.changed().catch(() => undefined),
    live,
  });
  return { live, admin };
};

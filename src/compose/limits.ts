import { gatewayError } from '../canonical/failure/failure.ts';
import type { Config } from '../config/schema.ts';
import type { ModelDirectory } from '../engine/model-directory.ts';
import { KeyGate } from '../keys/key-gate.ts';
import type { KeyDirectory } from '../keys/key.ts';
import { KeyStorage } from '../keys/key-storage.ts';
import { readLimitStatus, type LimitStatus } from '../keys/key-limits.ts';
import { Reservations } from '../keys/reservations.ts';
import { systemAmbient } from '../kit/ambient.ts';
import type { Logger } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Store } from '../store/store.ts';

export interface OpenLimits {
  readonly gate: KeyGate;
  /** Null: nothing is stored. */
  readonly storage: KeyStorage | null;
  /** The limits of a key and what it has used of them. */
  statusOf(keyId: string): Promise<readonly LimitStatus[]>;
  /** Waits until what has ended is settled, within a limit. */
  close(): Promise<void>;
}

interface LimitDeps {
  /** Null: nothing is stored, so there are no named keys. */
  readonly store: Pick<Store, 'limits' | 'kept'> | null;
  readonly directory: KeyDirectory;
  readonly models: ModelDirectory;
  readonly metrics: Pick<Metrics, 'keyRefusals' | 'limitsUnsettled'>;
  readonly logger: Pick<Logger, 'error'>;
}

/** A key with limits cannot be used without a store. */
const NO_RESERVATIONS = { reserve: () => Promise.reject(gatewayError('store_unavailable')) };

/** What holds named keys to their policy and their limits. */
export const openLimits = (
  { prices, state }: Pick<Config, 'prices'> & { readonly state: Pick<Config['state'], 'keyStorageMb'> },
  { store, directory, models, metrics, logger }: LimitDeps,
): OpenLimits => {
  const reservations =
    store === null
      ? null
      : new Reservations({
          store: store.limits,
          ambient: systemAmbient,
          onUnsettled(err) {
            metrics.limitsUnsettled.inc();
            logger.error({ err }, 'usage of a key not settled: its reserve counts as used');
          },
        });
  const storage =
    store === null ? null : new KeyStorage({ directory, store: store.kept, defaultMb: state.keyStorageMb });
  return {
    storage,
    gate: new KeyGate({
      directory,
      storage,
      reservations: reservations ?? NO_RESERVATIONS,
      prices,
      modelInfo: async (model) => (await models.names()).find(model)?.info ?? null,
      onRefused: (code) => metrics.keyRefusals.inc({ code }),
    }),
    async statusOf(keyId) {
      const key = directory.byId(keyId);
      return key === null || store === null ? [] : readLimitStatus(key, store.limits);
    },
    close: async () => reservations?.close(),
  };
};

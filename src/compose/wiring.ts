import type { Relay } from '../codex/relay/server/relay.ts';
import type { TurnDriver } from '../engine/drivers/driver.ts';
import { relayDriver, type RelayDriverDeps } from '../engine/drivers/relay/driver.ts';
import { rpcDriver } from '../engine/drivers/rpc/driver.ts';

/** How the parts of a backend reach it. */
export interface Wiring {
  readonly driver: (deps: Omit<RelayDriverDeps, 'relay'>) => TurnDriver;
  /** Who asks an account for its models. */
  readonly listsModels: 'us' | 'codex';
  /** Whether the caller of a provider's address must send its key. */
  readonly needsKey: boolean;
  /** Whether app-servers report what the model writes. */
  readonly reportsContent: boolean;
}

/** The one place that asks whether there is a relay. */
export const wiringOf = (relay: Relay | null): Wiring =>
  relay === null
    ? { driver: rpcDriver, listsModels: 'codex', needsKey: true, reportsContent: true }
    : {
        driver: (deps) => relayDriver({ ...deps, relay }),
        listsModels: 'us',
        needsKey: false,
        reportsContent: false,
      };

import type { GatewayError } from '../canonical/failure/failure.ts';
import type { ApiKey } from './key.ts';

/** The named keys, from memory: every turn asks, also one of an open WebSocket and of a background response. */
export interface KeyDirectory {
  /** Null: a key of the configuration, which has no policy. */
  byId(keyId: string): ApiKey | null;
  /** Why the key runs no turn now: it was revoked or paused, or has expired. Null: it may. */
  refusalOf(keyId: string): GatewayError | null;
}

/** Without a store there are only keys of the configuration. */
export const NO_NAMED_KEYS: KeyDirectory = { byId: () => null, refusalOf: () => null };

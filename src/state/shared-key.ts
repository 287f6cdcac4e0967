import type { Clock } from '../kit/ambient.ts';
import type { MemoryStore } from '../store/store.ts';

/** Clients keep what it signed for as long as they like. */
const KEPT_MS = 100 * 365 * 24 * 60 * 60_000;

/** The key with which all instances of a store sign: that of the first one which offered its own. */
export const sharedKey = async (
  memory: Pick<MemoryStore, 'claim' | 'put'>,
  own: string,
  clock: Clock,
): Promise<string> => {
  const expiresAt = clock.now() + KEPT_MS;
  const key = await memory.claim('signature-key', 'current', own, expiresAt);
  // Encrypts it with the current PROXY_STORE_KEY, so that an earlier one can be removed.
  await memory.put('signature-key', 'current', key, expiresAt);
  return key;
};

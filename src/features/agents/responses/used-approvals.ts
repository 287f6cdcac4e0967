import type { Clock } from '../../../kit/ambient.ts';

/** Remembers which approvals were used, so that no call runs twice. */
export interface UsedApprovals {
  /** False: it was used before. `expiresAt`: when it may be forgotten, in milliseconds since the Unix epoch. */
  use(owner: string, id: string, expiresAt: number): Promise<boolean>;
  /** The call has not run. */
  giveBack(owner: string, id: string): Promise<void>;
}

/** Without a store: for so long, and so many. */
const KEEP_MS = 60 * 60_000;
const MAX_KEPT = 100_000;

/** Keeps them in this process. */
export const approvalsInMemory = (clock: Clock): UsedApprovals => {
  /** When each may be forgotten. The oldest come first. */
  const used = new Map<string, number>();
  const forget = (now: number): void => {
    for (const [key, until] of used) {
      if (until > now && used.size < MAX_KEPT) return;
      used.delete(key);
    }
  };
  const keyOf = (owner: string, id: string): string => JSON.stringify([owner, id]);
  return {
    async use(owner, id) {
      const now = clock.now();
      forget(now);
      const key = keyOf(owner, id);
      if (used.has(key)) return false;
      used.set(key, now + KEEP_MS);
      return true;
    },
    async giveBack(owner, id) {
      used.delete(keyOf(owner, id));
    },
  };
};

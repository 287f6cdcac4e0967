import type { Clock } from '../../../kit/ambient.ts';
import type { AgentApprovalStore } from '../store/port.ts';

/** Without a store: for so long, and so many. */
const KEEP_MS = 60 * 60_000;
const MAX_KEPT = 100_000;

/** Keeps them in this process. */
export const approvalsInMemory = (clock: Clock): AgentApprovalStore => {
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
    async useApproval(owner, id) {
      const now = clock.now();
      forget(now);
      const key = keyOf(owner, id);
      if (used.has(key)) return false;
      used.set(key, now + KEEP_MS);
      return true;
    },
    async giveBackApproval(owner, id) {
      used.delete(keyOf(owner, id));
    },
  };
};

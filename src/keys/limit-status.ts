import type { LimitStore } from '../store/ports/limits.ts';
import type { ApiKey, KeyLimit } from './key.ts';
import { limitName } from './key-limits.ts';
import { maxOf, shownAmount } from './spent.ts';

/** A limit of a key and its window, as the API shows it. Times are seconds since the Unix epoch. */
export interface LimitStatus extends KeyLimit {
  readonly object: 'codex.key.limit';
  /** Includes what running requests have reserved. */
  readonly used: number;
  readonly remaining: number;
  /** Null: the window begins with the next use. */
  readonly began_at: number | null;
  readonly resets_at: number | null;
}

/** What a key has used of its limits. A key without limits does not use the store. */
export const readLimitStatus = async (
  { id, limits }: Pick<ApiKey, 'id' | 'limits'>,
  store: Pick<LimitStore, 'status'>,
): Promise<readonly LimitStatus[]> => {
  if (limits.length === 0) return [];
  const windows = await store.status(id);
  return limits.map((limit) => {
    const { unit, window, max, model } = limit;
    const begun = windows.get(limitName(limit)) ?? null;
    const used = begun?.used ?? 0;
    return {
      object: 'codex.key.limit',
      unit,
      window,
      model,
      max,
      used: shownAmount(unit, used),
      remaining: shownAmount(unit, Math.max(0, maxOf(limit) - used)),
      began_at: begun === null ? null : Math.floor(begun.beganAt / 1_000),
      resets_at: begun === null ? null : Math.ceil(begun.resetsAt / 1_000),
    };
  });
};

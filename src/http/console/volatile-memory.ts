import type { Clock } from '../../kit/ambient.ts';
import type { SessionMemory } from './sessions.ts';

/** Two rows for each of a thousand sessions. */
const MAX_ROWS = 2_000;

/** Sessions without a store: they end with the process. If there are too many, the oldest ones end. */
export const createVolatileMemory = (clock: Clock): SessionMemory => {
  const rows = new Map<string, { readonly value: string; readonly expiresAt: number }>();
  return {
    async get(_kind, keys) {
      const now = clock.now();
      const known = keys.flatMap((key) => {
        const row = rows.get(key);
        return row === undefined || row.expiresAt <= now ? [] : [[key, row.value] as const];
      });
      return new Map(known);
    },
    async put(_kind, key, value, expiresAt) {
      rows.delete(key);
      rows.set(key, { value, expiresAt });
      for (const oldest of rows.keys()) {
        if (rows.size <= MAX_ROWS) return;
        rows.delete(oldest);
      }
    },
    async drop(_kind, keys) {
      for (const key of keys) rows.delete(key);
    },
  };
};

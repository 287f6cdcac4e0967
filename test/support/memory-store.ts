import type { Clock } from '../../src/kit/ambient.ts';
import type { MemoryKind, MemoryStore } from '../../src/store/store.ts';

export interface FakeMemoryStore extends MemoryStore {
  /** Every call, in order. */
  readonly calls: string[];
  readonly rows: Map<string, { readonly value: string; readonly expiresAt: number }>;
  /** What the next calls do: answer, fail, or never answer. */
  mode: 'up' | 'down' | 'silent';
  /** Whether calls of `drop` never answer. */
  holdDrops: boolean;
}

/** The values that instances share, without a database. */
export const fakeMemoryStore = (clock: Clock): FakeMemoryStore => {
  const rows: FakeMemoryStore['rows'] = new Map();
  const calls: string[] = [];
  const live = (kind: MemoryKind, key: string) => {
    const row = rows.get(`${kind} ${key}`);
    return row === undefined || row.expiresAt <= clock.now() ? null : row;
  };
  const store: FakeMemoryStore = {
    mode: 'up',
    holdDrops: false,
    calls,
    rows,
    async get(kind, keys) {
      await answers('get', kind, keys.length);
      return new Map(
        keys.flatMap((key) => {
          const row = live(kind, key);
          return row === null ? [] : [[key, row.value] as const];
        }),
      );
    },
    async put(kind, key, value, expiresAt) {
      await answers('put', kind, 1);
      rows.set(`${kind} ${key}`, { value, expiresAt });
    },
    async claim(kind, key, value, expiresAt) {
      await answers('claim', kind, 1);
      const row = live(kind, key);
      const kept = {
        value: row?.value ?? value,
        expiresAt: Math.max(row?.expiresAt ?? 0, expiresAt),
      };
      rows.set(`${kind} ${key}`, kept);
      return kept.value;
    },
    async drop(kind, keys) {
      await answers('drop', kind, keys.length);
      for (const key of keys) rows.delete(`${kind} ${key}`);
    },
  };
  const answers = async (method: string, kind: MemoryKind, keys: number): Promise<void> => {
    calls.push(`${method} ${kind} ${keys}`);
    if (store.mode === 'down') throw new Error('the database is gone');
    if (store.mode === 'silent' || (store.holdDrops && method === 'drop')) await new Promise(() => {});
  };
  return store;
};

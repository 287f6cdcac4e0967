import type { Clock } from '../../kit/ambient.ts';
import { LatencyBuckets } from '../../kit/collections/log-histogram.ts';
import type { UsageLatency, UsageRange, UsageRow, UsageStore, UsageSum } from './store.ts';
import { addCounts, NO_USAGE } from './usage-counts.ts';

/** About 1 KB each. */
const MAX_ROWS = 10_000;

/** The usage since the start, for a server that stores nothing. Beyond the maximum the oldest rows are dropped. */
export class MemoryUsage implements UsageStore {
  /** In the order of their first write. */
  readonly #rows = new Map<string, UsageRow>();
  readonly #clock: Clock;
  readonly #maxRows: number;

  constructor(clock: Clock, maxRows = MAX_ROWS) {
    this.#clock = clock;
    this.#maxRows = maxRows;
  }

  async put(rows: readonly UsageRow[]): Promise<void> {
    for (const row of rows) {
      if ((this.#rows.get(row.id)?.requests ?? 0) < row.requests) this.#rows.set(row.id, row);
    }
    const now = this.#clock.now();
    for (const { id, expiresAt } of this.#rows.values()) {
      if (this.#rows.size > this.#maxRows || expiresAt <= now) this.#rows.delete(id);
    }
  }

  async sums({
    models,
    by,
    limit,
    ...range
  }: Parameters<UsageStore['sums']>[0]): Promise<readonly UsageSum[]> {
    const sums = new Map<string, UsageSum>();
    for (const row of this.#within(range)) {
      if (models !== null && !models.includes(row.model)) continue;
      const labels = {
        start: row.hour - (row.hour % range.width),
        keyId: by.includes('keyId') ? row.keyId : null,
        model: by.includes('model') ? row.model : null,
        client: by.includes('client') ? row.client : null,
      };
      const group = JSON.stringify(labels);
      sums.set(group, { ...labels, ...addCounts(sums.get(group) ?? NO_USAGE, row) });
    }
    const order = (sum: UsageSum): readonly (string | number)[] => [
      sum.start,
      ...by.map((group) => sum[group] ?? ''),
    ];
    return [...sums.values()].toSorted((a, b) => compare(order(a), order(b))).slice(0, limit);
  }

  async latencies(range: UsageRange): Promise<readonly UsageLatency[]> {
    const buckets = new LatencyBuckets();
    for (const row of this.#within(range)) buckets.add(row.hour - (row.hour % range.width), row);
    return buckets.sums();
  }

  #within({ from, to, keyIds }: UsageRange): readonly UsageRow[] {
    const now = this.#clock.now();
    return [...this.#rows.values()].filter(
      (row) =>
        row.hour >= from &&
        row.hour < to &&
        row.expiresAt > now &&
        (keyIds === null || keyIds.includes(row.keyId)),
    );
  }
}

const compare = (a: readonly (string | number)[], b: readonly (string | number)[]): number => {
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? '';
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
};
